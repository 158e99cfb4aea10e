//! When a command is killed.

use std::path::PathBuf;
use std::process::Child;
use std::time::{Duration, SystemTime};

use super::Case;
use super::written::is_temporary;
use crate::dice::Dice;
use crate::room::Room;

/// A moment in the run of a command.
pub(super) enum Moment {
    After(Duration),
    /// A little after it has begun to write a file.
    Writing(Duration),
    /// A little after a file of its result has appeared or changed.
    Written(Duration),
}

impl Moment {
    pub(super) fn random(dice: &mut Dice, elapsed: Duration) -> Self {
        let little = Duration::from_secs_f64(0.003 * dice.unit());
        match dice.below(3) {
            0 => Self::After(elapsed.mul_f64(1.1 * dice.unit())),
            1 => Self::Writing(little),
            _ => Self::Written(little),
        }
    }

    /// Waits until it has come, or the command has ended.
    pub(super) fn wait_for(&self, child: &mut Child, room: &Room, case: &Case) {
        let before = stamps(room, case);
        let is_over = || match self {
            Self::After(_) => true,
            Self::Writing(_) => is_writing(room, case) || stamps(room, case) != before,
            Self::Written(_) => stamps(room, case) != before,
        };
        while !is_over() && matches!(child.try_wait(), Ok(None)) {
            std::thread::sleep(Duration::from_micros(200));
        }
        let (Self::After(time) | Self::Writing(time) | Self::Written(time)) = self;
        std::thread::sleep(*time);
    }
}

/// The files of a result, with when they were changed.
fn stamps(room: &Room, case: &Case) -> Vec<(Option<SystemTime>, PathBuf)> {
    let paths = case.writes.iter().map(|name| room.path(name));
    let inside = paths.flat_map(|path| match std::fs::read_dir(&path) {
        Ok(entries) => entries.flatten().map(|entry| entry.path()).collect(),
        Err(_) => vec![path],
    });
    let changed = |path: &PathBuf| path.metadata().and_then(|found| found.modified()).ok();
    let found = inside.filter(|path| !is_temporary(path));
    found.map(|path| (changed(&path), path)).collect()
}

/// Whether a file is being written.
fn is_writing(room: &Room, case: &Case) -> bool {
    let mut folders = vec![room.path("")];
    folders.extend(case.writes.iter().map(|name| room.path(name)));
    folders.iter().any(|folder| {
        let mut entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        entries.any(|entry| is_temporary(&entry.path()))
    })
}
