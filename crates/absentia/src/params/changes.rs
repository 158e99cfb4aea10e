//! Which parameters change the result of a sweep, and so must not differ when a run is resumed.

use super::settings::Params;

impl Params {
    /// Names of the parameters that differ from those of an earlier run and change the result of a
    /// sweep. A run that was started with `earlier` can be resumed with these parameters only if there
    /// are none.
    ///
    /// The number of iterations, threads, tolerance and memory limit may change: they decide when a
    /// run ends, not what a sweep yields.
    ///
    /// ```
    /// use absentia::Params;
    ///
    /// let earlier = Params::new();
    /// assert_eq!(Params::new().iterations(50).changes_since(&earlier), [""; 0]);
    /// assert_eq!(Params::new().seed(7).changes_since(&earlier), ["seed"]);
    /// ```
    #[must_use]
    pub fn changes_since(&self, earlier: &Params) -> Vec<&'static str> {
        // Destructured without `..`, so that a new parameter has to be added to one of the two lists.
        let Params {
            factors,
            regularization,
            reg_exponent,
            solver,
            targets,
            confidence,
            post_scale,
            post_scale_half_life,
            init_std,
            seed,
            learning_rate,
            iterations: _,
            threads: _,
            tolerance: _,
            memory_limit: _,
        } = self;
        let differs = [
            ("factors", *factors != earlier.factors),
            (
                "regularization",
                regularization.to_bits() != earlier.regularization.to_bits(),
            ),
            (
                "reg_exponent",
                reg_exponent.to_bits() != earlier.reg_exponent.to_bits(),
            ),
            ("solver", *solver != earlier.solver),
            ("targets", *targets != earlier.targets),
            ("confidence", *confidence != earlier.confidence),
            (
                "post_scale",
                post_scale.to_bits() != earlier.post_scale.to_bits(),
            ),
            (
                "post_scale_half_life",
                post_scale_half_life.map(f64::to_bits)
                    != earlier.post_scale_half_life.map(f64::to_bits),
            ),
            ("init_std", init_std.to_bits() != earlier.init_std.to_bits()),
            ("seed", *seed != earlier.seed),
            (
                "learning_rate",
                learning_rate.to_bits() != earlier.learning_rate.to_bits(),
            ),
        ];
        let changed = differs.into_iter().filter(|(_, differs)| *differs);
        changed.map(|(name, _)| name).collect()
    }
}
