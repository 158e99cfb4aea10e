//! A job as keys and values: what a configuration file, a model file and Python write.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use toml::{Table, Value};

use crate::error::JobError;
use crate::job::Job;
use crate::keys::{Field as _, Keys, NamedFields, key_of};

impl Keys for Job {
    fn fields(&mut self) -> NamedFields<'_> {
        let Self {
            data,
            solver,
            weights,
            relation,
            device,
            threads,
            settings,
            exposed,
            validation,
            reading,
            preparation,
        } = self;
        let mut fields: NamedFields<'_> = vec![
            ("data", data),
            ("solver", solver),
            ("weights", weights),
            ("relation", relation),
            ("device", device),
            ("threads", threads),
        ];
        fields.extend(settings.fields());
        fields.extend(exposed.fields());
        fields.extend(validation.fields());
        fields.extend(reading.fields());
        fields.extend(preparation.fields());
        fields
    }
}

impl Job {
    /// Sets the value of a key, and replaces any earlier value.
    ///
    /// # Errors
    /// A key that no job has, a value that cannot be read.
    pub fn set(&mut self, key: &str, value: &Value) -> Result<(), JobError> {
        self.set_key(key, value)
    }

    /// The keys that were given, with their values.
    #[must_use]
    pub fn table(&self) -> Table {
        let mut job = self.clone();
        let fields = job.fields().into_iter();
        let given = fields.filter_map(|(name, field)| Some((key_of(name), field.written()?)));
        let mut table: Table = given.collect();
        if let Some(solver) = self.written_solver() {
            table.insert("solver".to_owned(), solver);
        }
        table
    }

    /// The solver, by its name alone where its number has a key of its own.
    fn written_solver(&self) -> Option<Value> {
        let method = self.solver?;
        match self.settings.number_of(method) {
            Some(_) => Some(method.name().into()),
            None => self.solver.written(),
        }
    }

    /// Every key that a job has.
    #[must_use]
    pub fn keys() -> Vec<String> {
        Self::default().key_names()
    }

    /// Takes the values of a preset where none were given, and of the engine for the method.
    ///
    /// # Errors
    /// None, unless a preset has a key that no job has.
    pub fn with_preset(mut self) -> Result<Self, JobError> {
        let Some(preset) = self.settings.preset else {
            return Ok(self);
        };
        let given = self.table();
        for (key, value) in preset.table() {
            if !given.contains_key(&key) {
                self.set(&key, &value)?;
            }
        }
        Ok(self)
    }
}

impl Serialize for Job {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.table().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Job {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut job = Self::default();
        for (key, value) in Table::deserialize(deserializer)? {
            job.set(&key, &value).map_err(D::Error::custom)?;
        }
        Ok(job)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVERYTHING: &str = "\
data = ['a.csv', 'b.csv']
solver = 'subspace:32'
weights = ['popularity:mean=0.02,alpha=0.25']
relation = ['items-tags:tags.csv,strength=0.3,weights=uniform:0.02']
device = 'cpu'
threads = 2
factors = 8
regularization = 0.05
targets = 'normalized:0.1,0.1'
confidence = 'decay:30d'
memory-limit = '8GiB'
exposed = ['shown.csv']
exposed-weight = 0.5
valid-split = 'leave-one-out'
valid-every = 2
no-header = true
user-col = 'who'
item-col = 2
shape = '10,20'
since = '2020-01-31'
sample = 'users:0.1'
k-core = 5
";

    #[test]
    fn what_is_written_reads_back() {
        let job: Job = toml::from_str(EVERYTHING).expect("a job");
        let table: Table = EVERYTHING.parse().expect("a table");
        assert_eq!(job.table(), table);
        let json = serde_json::to_string(&job).expect("written");
        assert_eq!(serde_json::from_str::<Job>(&json).expect("read"), job);
    }

    #[test]
    fn every_key_can_be_set() {
        assert!(Job::keys().iter().all(|key| {
            let unknown = Job::default().set(key, &Value::Array(Vec::new()));
            !matches!(unknown, Err(JobError::UnknownKey { .. }))
        }));
        let unknown = Job::default().set("factor", &Value::Integer(8));
        assert!(matches!(unknown, Err(JobError::UnknownKey { .. })));
    }

    #[test]
    fn a_header_that_is_not_there_is_a_flag() {
        let job: Job = toml::from_str("header = false").expect("a job");
        assert!(job.reading.no_header && !job.reading.header);
    }

    #[test]
    fn presets_give_way_to_what_was_given() {
        let text = "preset = 'plays'\nweights = 'uniform:0.1'";
        let job: Job = toml::from_str(text).expect("a job");
        let job = job.with_preset().expect("a preset");
        assert_eq!(job.weights().expect("one").to_string(), "uniform:0.1");
        assert_eq!(
            job.settings.confidence.map(|c| c.to_string()).as_deref(),
            Some("log:0.5,1")
        );
    }
}
