//! A grid of braille dots, two by four to a character.

const BLANK: u32 = 0x2800;
/// Bit of the dot in column `x` and row `y` of a braille character.
const DOTS: [[u8; 4]; 2] = [[0x01, 0x02, 0x04, 0x40], [0x08, 0x10, 0x20, 0x80]];

/// Dots with the series that drew each character last.
pub(super) struct Canvas {
    columns: usize,
    rows: usize,
    cells: Vec<(u8, usize)>,
}

impl Canvas {
    pub(super) fn new(columns: usize, rows: usize) -> Self {
        Self {
            columns,
            rows,
            cells: vec![(0, 0); columns * rows],
        }
    }

    /// Sets the dot at fractions of the width and height, measured from the lower left.
    pub(super) fn dot(&mut self, at: (f64, f64), series: usize) {
        let (x, y) = self.place(at);
        self.set(x, y, series);
    }

    /// Draws a straight line of dots.
    pub(super) fn line(&mut self, from: (f64, f64), to: (f64, f64), series: usize) {
        let ((x0, y0), (x1, y1)) = (self.place(from), self.place(to));
        let steps = (x1 - x0).abs().max((y1 - y0).abs());
        for step in 0..=steps {
            let t = step as f64 / steps.max(1) as f64;
            let x = x0 as f64 + t * (x1 - x0) as f64;
            let y = y0 as f64 + t * (y1 - y0) as f64;
            self.set(x.round() as i64, y.round() as i64, series);
        }
    }

    /// The characters of one row from left to right, each with its series; blank ones are spaces.
    pub(super) fn row(&self, row: usize) -> impl Iterator<Item = (char, usize)> {
        let cells = &self.cells[row * self.columns..(row + 1) * self.columns];
        cells.iter().map(|&(dots, series)| match dots {
            0 => (' ', series),
            _ => (
                char::from_u32(BLANK + u32::from(dots)).unwrap_or(' '),
                series,
            ),
        })
    }

    fn place(&self, (x, y): (f64, f64)) -> (i64, i64) {
        let across = (self.columns * 2 - 1) as f64;
        let down = (self.rows * 4 - 1) as f64;
        let x = (x.clamp(0.0, 1.0) * across).round();
        let y = ((1.0 - y.clamp(0.0, 1.0)) * down).round();
        (x as i64, y as i64)
    }

    fn set(&mut self, x: i64, y: i64, series: usize) {
        let (x, y) = (x as usize, y as usize);
        let cell = &mut self.cells[y / 4 * self.columns + x / 2];
        cell.0 |= DOTS[x % 2][y % 4];
        cell.1 = series;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(canvas: &Canvas, row: usize) -> String {
        canvas.row(row).map(|(c, _)| c).collect()
    }

    #[test]
    fn corners_are_where_they_belong() {
        let mut canvas = Canvas::new(2, 2);
        canvas.dot((0.0, 0.0), 0);
        canvas.dot((1.0, 1.0), 1);
        assert_eq!([text(&canvas, 0), text(&canvas, 1)], [" ⠈", "⡀ "]);
        assert_eq!(canvas.row(0).nth(1), Some(('⠈', 1)));
    }

    #[test]
    fn a_level_line_is_unbroken() {
        let mut canvas = Canvas::new(3, 1);
        canvas.line((0.0, 1.0), (1.0, 1.0), 0);
        assert_eq!(text(&canvas, 0), "⠉⠉⠉");
    }

    #[test]
    fn places_outside_are_drawn_on_the_edge() {
        let mut canvas = Canvas::new(1, 1);
        canvas.line((-3.0, 9.0), (f64::NAN, 0.0), 0);
        assert_ne!(text(&canvas, 0), " ");
    }
}
