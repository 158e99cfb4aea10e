//! A client that sends requests at a rate, whether or not earlier ones are answered, and one that sends
//! the next request after each answer.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// What became of requests.
#[derive(Clone, Debug, Default)]
pub(super) struct Report {
    /// Answers with status 200.
    pub(super) good: usize,
    /// Other answers.
    pub(super) refused: usize,
    /// Latencies of the good ones in seconds, from the moment at which they were due.
    pub(super) latencies: Vec<f64>,
    /// How long it took.
    pub(super) seconds: f64,
}

impl Report {
    pub(super) fn rate(&self) -> f64 {
        self.good as f64 / self.seconds.max(1e-9)
    }

    /// The latency that a share of the answers stayed within, in milliseconds.
    pub(super) fn quantile(&self, share: f64) -> f64 {
        let mut sorted = self.latencies.clone();
        sorted.sort_by(f64::total_cmp);
        let at = ((sorted.len() as f64 * share) as usize).min(sorted.len().saturating_sub(1));
        sorted.get(at).map_or(f64::NAN, |seconds| seconds * 1e3)
    }

    fn join(reports: Vec<Self>, seconds: f64) -> Self {
        let mut all = Self {
            seconds,
            ..Self::default()
        };
        for report in reports {
            all.good += report.good;
            all.refused += report.refused;
            all.latencies.extend(report.latencies);
        }
        all
    }
}

/// Bytes that are read at a time; an answer with twenty items fits.
const CHUNK: usize = 16 << 10;

/// A connection that is kept. Client and server share the processors, so that it does little: two calls of the
/// system for a request whose answer comes in one piece, and no allocation.
struct Connection {
    stream: TcpStream,
    buffer: Vec<u8>,
}

impl Connection {
    fn open(address: &str) -> Result<Self, String> {
        let stream = TcpStream::connect(address).map_err(|error| format!("{address}: {error}"))?;
        let _ = stream.set_nodelay(true);
        let _ = stream.set_read_timeout(Some(Duration::from_secs(30)));
        Ok(Self {
            stream,
            buffer: vec![0; CHUNK],
        })
    }

    /// Sends a request and yields the status of its answer.
    fn send(&mut self, request: &str) -> std::io::Result<u16> {
        self.stream.write_all(request.as_bytes())?;
        let mut filled = 0;
        let head = loop {
            if filled == self.buffer.len() {
                return Err(std::io::ErrorKind::InvalidData.into());
            }
            filled += self.read(filled)?;
            if let Some(head) = Head::of(&self.buffer[..filled]) {
                break head;
            }
        };
        // What is left of the body is read and dropped; requests are not sent ahead, so that nothing follows.
        while filled < head.length + head.body {
            filled += self.read(0)?;
        }
        Ok(head.status)
    }

    fn read(&mut self, from: usize) -> std::io::Result<usize> {
        match self.stream.read(&mut self.buffer[from..])? {
            0 => Err(std::io::ErrorKind::UnexpectedEof.into()),
            count => Ok(count),
        }
    }
}

/// The head of an answer.
#[derive(Debug, PartialEq, Eq)]
struct Head {
    status: u16,
    /// Bytes of the head with the blank line.
    length: usize,
    /// Bytes of the body.
    body: usize,
}

impl Head {
    /// The head at the start of some bytes, if it is there as a whole.
    fn of(bytes: &[u8]) -> Option<Self> {
        let end = bytes.windows(4).position(|window| window == b"\r\n\r\n")?;
        let mut lines = bytes[..end].split(|&byte| byte == b'\n');
        let status = number(lines.next()?.get(9..12)?);
        let name = b"content-length:";
        let body = lines.find_map(|line| {
            let (start, value) = line.split_at_checked(name.len())?;
            start.eq_ignore_ascii_case(name).then(|| number(value))
        });
        Some(Self {
            status: status as u16,
            length: end + 4,
            body: body.unwrap_or(0),
        })
    }
}

/// The number that the digits of some bytes are.
fn number(bytes: &[u8]) -> usize {
    let digits = bytes.iter().filter(|byte| byte.is_ascii_digit());
    digits.fold(0, |number, digit| 10 * number + usize::from(digit - b'0'))
}

/// Sends `make(0)`, `make(1)`, ... at a rate over a number of connections for some seconds.
pub(super) fn at_rate(
    address: &str,
    connections: usize,
    rate: f64,
    seconds: f64,
    make: impl Fn(usize) -> String + Sync,
) -> Result<Report, String> {
    let total = (rate * seconds) as usize;
    // Until then all connections are open.
    let start = Instant::now() + Duration::from_micros(20_000 + 300 * connections as u64);
    run(address, connections, |at, connection, report| {
        for number in (at..total).step_by(connections) {
            let due = start + Duration::from_secs_f64(number as f64 / rate);
            std::thread::sleep(due.saturating_duration_since(Instant::now()));
            report.add(connection.send(&make(number)), due)?;
        }
        Ok(())
    })
}

/// Sends a request after each answer over a number of connections for some seconds.
pub(super) fn as_fast_as_possible(
    address: &str,
    connections: usize,
    seconds: f64,
    make: impl Fn(usize) -> String + Sync,
) -> Result<Report, String> {
    let end = Instant::now() + Duration::from_secs_f64(seconds);
    run(address, connections, |at, connection, report| {
        for number in (at..).step_by(connections) {
            let due = Instant::now();
            if due >= end {
                break;
            }
            report.add(connection.send(&make(number)), due)?;
        }
        Ok(())
    })
}

impl Report {
    fn add(&mut self, status: std::io::Result<u16>, due: Instant) -> Result<(), String> {
        match status.map_err(|error| format!("a request failed: {error}"))? {
            200 => {
                self.good += 1;
                self.latencies.push(due.elapsed().as_secs_f64());
            }
            _ => self.refused += 1,
        }
        Ok(())
    }
}

fn run(
    address: &str,
    connections: usize,
    work: impl Fn(usize, &mut Connection, &mut Report) -> Result<(), String> + Sync,
) -> Result<Report, String> {
    let start = Instant::now();
    let reports: Result<Vec<Report>, String> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..connections)
            .map(|at| {
                let work = &work;
                scope.spawn(move || {
                    let (mut connection, mut report) =
                        (Connection::open(address)?, Report::default());
                    work(at, &mut connection, &mut report)?;
                    Ok(report)
                })
            })
            .collect();
        let joined = threads.into_iter().map(|thread| {
            thread
                .join()
                .unwrap_or_else(|_| Err("a client panicked".to_owned()))
        });
        joined.collect()
    });
    Ok(Report::join(reports?, start.elapsed().as_secs_f64()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_are_read_when_they_are_whole() {
        let answer = b"HTTP/1.1 503 Busy\r\nRetry-After: 1\r\nContent-Length: 12\r\n\r\n{}";
        for cut in 0..answer.len() - 2 {
            assert_eq!(Head::of(&answer[..cut]), None, "{cut}");
        }
        let expected = Head {
            status: 503,
            length: answer.len() - 2,
            body: 12,
        };
        assert_eq!(Head::of(answer), Some(expected));
    }
}
