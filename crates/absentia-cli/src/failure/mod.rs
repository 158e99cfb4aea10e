//! What goes wrong, in one line with a hint, and the exit code it leads to.

mod explained;
mod files;
mod places;

use absentia::Fault;
use absentia::ParamsError;
use absentia::baselines::BaselineError;
use absentia::data::DataError;
use absentia::evaluate::{EvaluateError, SignificanceError};
use absentia::fit::FitError;
use absentia::model::ModelError;
use absentia::ranking::RankError;
use absentia::weights::{SpecError, WeightsError};
use absentia_lab::generate::GenerateError;
use absentia_lab::paper::PaperError;
use absentia_search::SearchError;

use crate::ui::Ui;
use explained::{explained, unwrapped};
pub(crate) use places::Places;

/// How a command ended when nothing went wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// All was done.
    Done,
    /// Ctrl-C ended it early; the results so far are saved.
    Interrupted,
}

impl Outcome {
    pub(crate) fn interrupted_if(interrupted: bool) -> Self {
        if interrupted {
            Self::Interrupted
        } else {
            Self::Done
        }
    }
}

impl From<Outcome> for u8 {
    fn from(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Done => 0,
            Outcome::Interrupted => 130,
        }
    }
}

/// The kind of a failure; its number is the exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Exit {
    Failed = 1,
    Usage = 2,
    Data = 3,
    NotFound = 4,
    Memory = 5,
    Interrupted = 130,
}

/// A refusal made by the command line itself.
#[derive(Debug)]
pub(crate) struct Refusal {
    exit: Exit,
    /// The flag whose value is refused; the message goes on after it.
    flag: Option<String>,
    message: String,
    hint: Option<String>,
}

impl Refusal {
    /// Refuses the value of a flag, given without dashes; `message` goes on after it.
    pub(crate) fn flag(flag: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            flag: Some(flag.into()),
            ..Self::usage(message)
        }
    }

    /// Refuses the value of an argument: a flag with its dashes, or a name as in the usage of a command.
    pub(crate) fn argument(argument: &str, message: &str) -> Self {
        match argument.strip_prefix("--") {
            Some(flag) => Self::flag(flag, message),
            None => Self::usage(format!("{argument} {message}")),
        }
    }

    /// Refuses arguments that make no sense together.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(Exit::Usage, message)
    }

    /// Refuses data that cannot be used.
    pub(crate) fn data(message: impl Into<String>) -> Self {
        Self::new(Exit::Data, message)
    }

    /// Something that was named does not exist.
    pub(crate) fn not_found(message: impl Into<String>) -> Self {
        Self::new(Exit::NotFound, message)
    }

    /// Something outside of the program does not allow it.
    pub(crate) fn failed(message: impl Into<String>) -> Self {
        Self::new(Exit::Failed, message)
    }

    /// Ctrl-C came before there was anything to keep.
    pub(crate) fn interrupted(message: impl Into<String>) -> Self {
        Self::new(Exit::Interrupted, message)
    }

    fn new(exit: Exit, message: impl Into<String>) -> Self {
        Self {
            exit,
            flag: None,
            message: message.into(),
            hint: None,
        }
    }

    /// Says where it is, before anything else.
    pub(crate) fn at(mut self, place: &str) -> Self {
        self.message = format!("{place}: {self}");
        self.flag = None;
        self
    }

    /// The message, with the line of the configuration file and the key where a flag has its value from there.
    fn located(&self, places: &Places) -> String {
        let place = self
            .flag
            .as_ref()
            .and_then(|flag| Some((places.of(flag)?, flag)));
        match place {
            Some((place, flag)) => format!("{place}: {flag}{}", self.after_flag()),
            None => self.to_string(),
        }
    }

    fn after_flag(&self) -> String {
        let space = if self.message.starts_with(':') {
            ""
        } else {
            " "
        };
        format!("{space}{}", self.message)
    }

    /// Says what to do about it.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl Refusal {
    /// Says what else to do about it.
    pub(crate) fn and_hint(self, more: &str) -> Self {
        match &self.hint {
            Some(hint) => {
                let hint = format!("{hint}; {more}");
                self.hint(hint)
            }
            None => self.hint(more),
        }
    }
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.flag {
            Some(flag) => write!(f, "--{flag}{}", self.after_flag()),
            None => f.write_str(&self.message),
        }
    }
}

impl std::error::Error for Refusal {}

/// A failure ready to be shown.
pub(crate) struct Failure {
    exit: Exit,
    message: String,
    hint: Option<String>,
    silent: bool,
}

impl From<anyhow::Error> for Failure {
    fn from(error: anyhow::Error) -> Self {
        Self::located(&error, &Places::default())
    }
}

impl Failure {
    /// A failure that says on which line of the configuration file the wrong argument is, if it is from there.
    pub(crate) fn located(error: &anyhow::Error, places: &Places) -> Self {
        let mut hint = error.chain().find_map(hint_of);
        let exit = exit_of(error);
        if hint.is_none() && exit == Exit::NotFound {
            hint = Some("check the name and the folder".to_owned());
        }
        Self {
            exit,
            message: one_line(error, places),
            hint,
            silent: is_closed_pipe(error),
        }
    }

    /// Prints the failure, as text or as an object, and yields its exit code.
    pub(crate) fn report(&self, json: bool) -> u8 {
        if self.silent {
            return 0;
        }
        Ui::error(&self.message, self.hint.as_deref(), json);
        self.exit as u8
    }
}

/// The chain of causes in one line, causes that their effect already quotes left out.
fn one_line(error: &anyhow::Error, places: &Places) -> String {
    let mut line = String::new();
    for cause in error.chain() {
        let cause = unwrapped(cause);
        let text = match cause.downcast_ref::<Refusal>() {
            Some(refusal) => refusal.located(places),
            None => explained(cause)
                .map_or_else(|| cause.to_string(), |refusal| refusal.located(places)),
        };
        if line.is_empty() {
            line = text;
        } else if !line.contains(&text) {
            line = format!("{line}: {text}");
        }
    }
    line.replace('\n', " ")
}

/// What to do about a cause.
fn hint_of(cause: &(dyn std::error::Error + 'static)) -> Option<String> {
    let cause = unwrapped(cause);
    match cause.downcast_ref::<Refusal>() {
        Some(refusal) => refusal.hint.clone(),
        None => explained(cause)
            .and_then(|refusal| refusal.hint)
            .or_else(|| files::hint(cause.downcast_ref()?)),
    }
}

/// Whether the reader of our output has closed it, so that nobody would see an error.
fn is_closed_pipe(error: &anyhow::Error) -> bool {
    let direct = error.downcast_ref::<std::io::Error>();
    direct.is_some_and(|e| e.kind() == std::io::ErrorKind::BrokenPipe)
}

fn exit_of(error: &anyhow::Error) -> Exit {
    error
        .chain()
        .find_map(exit_of_cause)
        .unwrap_or(Exit::Failed)
}

fn exit_of_cause(cause: &(dyn std::error::Error + 'static)) -> Option<Exit> {
    let cause = unwrapped(cause);
    if let Some(refusal) = cause.downcast_ref::<Refusal>() {
        return Some(refusal.exit);
    }
    if let Some(refusal) = explained(cause) {
        return Some(refusal.exit);
    }
    if let Some(error) = cause.downcast_ref::<absentia_io::Error>() {
        return Some(exit_of_file_error(error));
    }
    if let Some(FitError::Memory { .. }) = cause.downcast_ref::<FitError>() {
        return Some(Exit::Memory);
    }
    if matches!(
        cause.downcast_ref(),
        Some(FitError::Baseline(BaselineError::Unsupported { .. }))
    ) || matches!(
        cause.downcast_ref(),
        Some(ModelError::NotOfThisMethod { .. })
    ) {
        return Some(Exit::Usage);
    }
    if cause.is::<ParamsError>() || cause.is::<SpecError>() || cause.is::<GenerateError>() {
        return Some(Exit::Usage);
    }
    if cause.downcast_ref::<EvaluateError>().is_some_and(is_usage) {
        return Some(Exit::Usage);
    }
    Some(match fault_of(cause)? {
        Fault::Caller => Exit::Data,
        Fault::NotFound => Exit::NotFound,
        Fault::Io | Fault::Internal => Exit::Failed,
    })
}

/// Whether the request itself is wrong, whatever the data.
fn is_usage(error: &EvaluateError) -> bool {
    matches!(
        error,
        EvaluateError::UnknownMetric { .. }
            | EvaluateError::NoMetrics
            | EvaluateError::NoCutoffs { .. }
            | EvaluateError::ZeroCutoff
    )
}

fn exit_of_file_error(error: &absentia_io::Error) -> Exit {
    match (error, error.fault()) {
        (absentia_io::Error::BadOption { .. } | absentia_io::Error::NoFactors { .. }, _) => {
            Exit::Usage
        }
        (absentia_io::Error::TooManyRows { .. } | absentia_io::Error::TooLarge { .. }, _) => {
            Exit::Memory
        }
        (_, absentia::Fault::Caller) => Exit::Data,
        (_, absentia::Fault::NotFound) => Exit::NotFound,
        _ => Exit::Failed,
    }
}

/// Who has to act on an error of a library.
fn fault_of(cause: &(dyn std::error::Error + 'static)) -> Option<Fault> {
    macro_rules! fault_of_any {
        ($($error:ty),*) => {
            None$(.or_else(|| cause.downcast_ref().map(<$error>::fault)))*
        };
    }
    fault_of_any!(
        FitError,
        DataError,
        WeightsError,
        ModelError,
        EvaluateError,
        RankError,
        SearchError,
        PaperError,
        SignificanceError
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::Context as _;

    #[test]
    fn causes_are_said_once_and_remedies_apart() {
        let error = Err::<(), _>(DataError::Duplicate { user: 1, item: 2 })
            .context("while building")
            .expect_err("an error");
        let failure = Failure::from(error);
        assert_eq!(failure.exit, Exit::Data);
        assert!(failure.message.starts_with("while building: user 1"));
        assert!(failure.hint.is_some_and(|hint| hint.contains("merge them")));
    }

    #[test]
    fn errors_of_a_job_are_said_with_flags() {
        let failure = |error: absentia_job::JobError| Failure::from(anyhow::Error::from(error));
        let range = failure(
            absentia::Params::new()
                .factors(0)
                .check()
                .unwrap_err()
                .into(),
        );
        assert_eq!(range.exit, Exit::Usage);
        assert_eq!(
            range.message,
            "--factors is 0; it must be between 1 and 8192"
        );
        let mut places = Places::default();
        places.add("factors", "run.toml:2".to_owned());
        let error = absentia::Params::new().factors(0).check().unwrap_err();
        assert_eq!(
            Failure::located(&error.into(), &places).message,
            "run.toml:2: factors is 0; it must be between 1 and 8192"
        );
        let weights = failure(absentia_job::JobError::SeveralWeights { count: 2 });
        assert_eq!(weights.exit, Exit::Usage);
        assert!(weights.message.contains("--weights is given 2 times"));
        assert!(weights.hint.is_some_and(|hint| hint.contains("' + '")));
    }

    /// A semicolon in a message is part of it.
    #[test]
    fn refusals_keep_their_code_and_hint() {
        let error = anyhow::Error::from(Refusal::not_found("no such user; sorry").hint("look"));
        let failure = Failure::from(error);
        assert_eq!(failure.exit, Exit::NotFound);
        assert_eq!(failure.message, "no such user; sorry");
        assert_eq!(failure.hint.as_deref(), Some("look"));
    }
}
