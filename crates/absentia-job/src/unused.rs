//! Keys that were given and have no effect.

use absentia::Method;

use crate::job::Job;
use crate::preparation::Preparation;

impl Job {
    /// What was given without effect on any of these methods, in words. `option` is how the front end calls a
    /// key.
    #[must_use]
    pub fn without_effect(
        &self,
        methods: &[Method],
        option: &dyn Fn(&str) -> String,
    ) -> Vec<String> {
        let (valid, valid_split) = (option("valid"), option("valid-split"));
        let unused = self.validation.unused().into_iter().map(|key| {
            format!(
                "{} has no effect without validation; hold rows out with {valid} or {valid_split}",
                option(key)
            )
        });
        let mut texts: Vec<String> = unused.collect();
        texts.extend(self.settings.unused(methods).into_iter().map(|unused| {
            let (key, solver, methods) = (option(unused.key), option("solver"), unused.methods);
            format!("{key} is for {solver} {methods} alone and has no effect here")
        }));
        let confidence = self.settings.confidence.unwrap_or_default();
        if self.exposed.has_unused_column(&self.reading, confidence) {
            let (column, rule) = (option("weight-col"), option("confidence"));
            texts.push(format!("{column} has no effect without {rule} column"));
        }
        texts.extend(self.preparation.without_effect(option));
        let rule = self.validation.valid_split;
        let rule = rule.filter(|_| self.validation.valid_pick.is_some());
        texts.extend(rule.and_then(|rule| rule.unused_pick(&option("valid-pick"))));
        texts
    }
}

impl Preparation {
    /// What was given without effect, in words.
    #[must_use]
    pub fn without_effect(&self, option: &dyn Fn(&str) -> String) -> Option<String> {
        // The configuration of a model holds the default.
        let is_unused = self.sample_seed.unwrap_or_default() != 0 && self.sample.is_none();
        let (seed, sample) = (option("sample-seed"), option("sample"));
        is_unused.then(|| format!("{seed} has no effect without {sample}"))
    }
}
