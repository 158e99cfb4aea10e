//! What removes one event of a pair and leaves the others.

use absentia_online::Record;

/// The records that remove an event: of several events of the pair, that one and no other.
pub(super) fn removal(record: &Record, sequence: u64, of_pair: &[(u64, Record)]) -> Vec<Record> {
    let remove = |(user, item): (&String, &String), time: Option<i64>, later: u32| Record::Remove {
        user: user.clone(),
        item: item.clone(),
        time,
        later: (later > 0).then_some(later),
    };
    match record {
        Record::Insert {
            user, item, time, ..
        } => {
            let later = of_pair
                .iter()
                .filter(|(at, other)| *at > sequence && matches!(other, Record::Insert { .. }));
            vec![remove((user, item), *time, later.count() as u32)]
        }
        Record::Expose { user, item, .. } => {
            // All exposures of a pair are one entry, which is made again from those that are left.
            let others = of_pair.iter().filter(|(at, _)| *at != sequence);
            let weights = others.filter_map(|(_, other)| match other {
                Record::Expose { weight, .. } => Some(*weight),
                _ => None,
            });
            let again = weights.reduce(f32::max).map(|weight| Record::Expose {
                user: user.clone(),
                item: item.clone(),
                weight,
            });
            let mut records = vec![remove((user, item), None, 0)];
            records.extend(again);
            records
        }
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn insert(time: i64) -> Record {
        Record::Insert {
            user: "ann".into(),
            item: "heat".into(),
            value: 1.0,
            weight: 1.0,
            time: Some(time),
        }
    }

    fn expose(weight: f32) -> Record {
        Record::Expose {
            user: "ann".into(),
            item: "heat".into(),
            weight,
        }
    }

    #[test]
    fn the_event_that_is_meant_is_removed_and_exposures_that_are_left_count() {
        let of_pair = [
            (3, expose(2.0)),
            (4, insert(9)),
            (6, insert(9)),
            (7, expose(1.0)),
            (8, insert(9)),
        ];
        let later = |sequence: u64| match &removal(&insert(9), sequence, &of_pair)[..] {
            [Record::Remove { time, later, .. }] => (*time, *later),
            other => panic!("{other:?}"),
        };
        assert_eq!(later(4), (Some(9), Some(2)));
        assert_eq!(later(6), (Some(9), Some(1)));
        assert_eq!(later(8), (Some(9), None));
        assert_eq!(removal(&expose(1.0), 7, &of_pair)[1], expose(2.0));
        assert_eq!(removal(&expose(2.0), 3, &of_pair)[1], expose(1.0));
        assert_eq!(removal(&expose(2.0), 3, &of_pair[..1]).len(), 1);
    }
}
