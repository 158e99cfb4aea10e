//! Errors of the libraries with the flags and remedies of the command line.

use std::error::Error;

use absentia::ParamsError;
use absentia::data::DataError;
use absentia::online::OnlineError;
use absentia::suggest;
use absentia_io::arrays::ArrayError;
use absentia_job::JobError;
use absentia_job::keys::key_of_parameter;
use absentia_lab::generate::GenerateError;
use absentia_online::{LearnError, LogError};
use absentia_search::SearchError;

use super::{Exit, Refusal};

/// The inner error, where a job's error only passes one on.
pub(super) fn unwrapped<'e>(cause: &'e (dyn Error + 'static)) -> &'e (dyn Error + 'static) {
    if let Some(error) = cause.downcast_ref::<LearnError>() {
        return match error {
            LearnError::Job(error) => unwrapped(error),
            LearnError::File(error) => error,
            _ => cause,
        };
    }
    match cause.downcast_ref::<JobError>() {
        Some(JobError::File(error)) => error,
        Some(JobError::Data(error)) => error,
        Some(JobError::Params(error)) => error,
        Some(JobError::Weights(error)) => error,
        Some(JobError::Evaluate(error)) => error,
        Some(JobError::Search(error)) => error,
        Some(JobError::Fit(error)) => error,
        Some(JobError::Model(error)) => error,
        _ => cause,
    }
}

/// What the command line says about an error, if that is more than the error itself does.
pub(super) fn explained(cause: &(dyn Error + 'static)) -> Option<Refusal> {
    if let Some(error) = cause.downcast_ref::<JobError>() {
        return Some(of_job(error));
    }
    if let Some(error) = cause.downcast_ref::<ParamsError>() {
        return of_params(error);
    }
    if let Some(error) = cause.downcast_ref::<LearnError>() {
        return of_learning(error);
    }
    if let Some(error) = cause.downcast_ref::<LogError>() {
        return of_log(error);
    }
    if let Some(error) = cause.downcast_ref() {
        return Some(of_generating(error));
    }
    if let Some(SearchError::NothingScored { .. }) = cause.downcast_ref() {
        let refusal = Refusal::data(cause.to_string());
        return Some(refusal.hint(
            "nothing was written but the log of trials; check the held-out rows, or choose a --metric with a longer list",
        ));
    }
    if let Some(SearchError::Log { .. }) = cause.downcast_ref() {
        let refusal = Refusal::data(cause.to_string());
        return Some(refusal.hint(
            "leave out --resume, or repeat the flags that the log was made with, such as --trials",
        ));
    }
    if let Some(DataError::Duplicate { user, item }) = cause.downcast_ref() {
        let refusal = Refusal::data(format!(
            "user {user} and item {item} occur together more than once"
        ));
        return Some(refusal.hint(MERGE));
    }
    match cause.downcast_ref()? {
        absentia_io::Error::Array(ArrayError::NotRowNumbers { path }) => {
            let refusal = Refusal::usage(format!(
                "{} is an array by position, but ids are not row numbers",
                path.display()
            ));
            Some(refusal.hint(
                "pass --dense-ids if they are, or give a CSV table with an id in its first column",
            ))
        }
        absentia_io::Error::TooManyBad { limit, first } => Some(Refusal::data(format!(
            "more than {limit} bad rows (--skip-bad {limit}), the first at {first}"
        ))),
        _ => None,
    }
}

/// A parameter of generated data by the name of its flag.
fn of_generating(error: &GenerateError) -> Refusal {
    let text = error.to_string();
    match error {
        GenerateError::TooManyEntries { .. } => Refusal::flag("entries", format!(": {text}"))
            .hint("lower --entries, or raise --items or --like-rate"),
        GenerateError::Count { name, .. } | GenerateError::Parameter { name, .. } => {
            let flag = match *name {
                "exposure strength" => "exposure".to_owned(),
                name => name.replace(' ', "-"),
            };
            Refusal::flag(flag, format!(": {text}"))
        }
        _ => Refusal::usage(text),
    }
}

/// What is wrong with a model that is to learn, or with an event.
fn of_learning(error: &LearnError) -> Option<Refusal> {
    let text = error.to_string();
    Some(match error {
        LearnError::Unknown { similar, .. } => {
            let refusal = Refusal::not_found(text);
            match suggest::did_you_mean(similar) {
                Some(hint) => refusal.hint(hint),
                None => refusal,
            }
        }
        LearnError::OtherIds { .. } | LearnError::OtherCounts { .. } => Refusal::data(text).hint(
            "pass the file that the model was trained on as --train, read with the same flags",
        ),
        LearnError::OtherUnit { .. } => {
            Refusal::data(text).hint("--time-unit says in what unit the times of the events are")
        }
        LearnError::Replayed { .. } => Refusal::data(text).hint(OTHER_LOG),
        LearnError::NoConfiguration { .. } => {
            Refusal::data(text).hint("train a model with absentia train")
        }
        LearnError::NoTrainingFile { .. } => {
            Refusal::not_found(text).hint("pass --train FILE if it is elsewhere")
        }
        LearnError::Online(OnlineError::Setting { name, got, range }) => {
            Refusal::flag(setting(name), format!("is {got}; it must be {range}"))
        }
        LearnError::Online(_)
        | LearnError::Pair { .. }
        | LearnError::IdLength { .. }
        | LearnError::Configuration(_) => Refusal::data(text),
        LearnError::Log(error) => return of_log(error),
        _ => return None,
    })
}

/// The flag of a setting of the engine.
fn setting(name: &str) -> &str {
    match name {
        "weight of new entries" => "weight-of-new",
        name => name,
    }
}

/// What is wrong with a log of events.
fn of_log(error: &LogError) -> Option<Refusal> {
    let refusal = Refusal::data(error.to_string());
    match error {
        LogError::Damaged { line: 1, .. } => Some(
            refusal.hint("--log names a new file, or one that an earlier `absentia stream` wrote"),
        ),
        LogError::Damaged { .. } => Some(refusal),
        LogError::Gap { .. } => Some(refusal.hint(OTHER_LOG)),
        LogError::OtherWeights { .. } => Some(refusal.hint(OTHER_WEIGHTS)),
        _ => None,
    }
}

const OTHER_LOG: &str = "give the log that was written from this model, or another file as --log";

const OTHER_WEIGHTS: &str =
    "pass --live for live weights and leave it out for frozen ones, or give another file as --log";

const MERGE: &str = "merge them with --duplicates sum, last or max";

/// A parameter by the name of its flag.
fn of_params(error: &ParamsError) -> Option<Refusal> {
    Some(match error {
        ParamsError::Whole {
            name,
            got,
            least,
            most,
        } => Refusal::flag(
            key_of_parameter(name),
            format!("is {got}; it must be between {least} and {most}"),
        ),
        ParamsError::Real { name, got, range } => Refusal::flag(
            key_of_parameter(name),
            format!("is {got}; it must be {range}"),
        ),
        // These say more about the range than a message of ours would, after the name.
        ParamsError::Block { .. } | ParamsError::Method { .. } => {
            let text = error.to_string();
            let reason = text.strip_prefix(error.name()).unwrap_or(&text);
            Refusal::flag(error.name(), reason.trim_start())
        }
        _ => return None,
    })
}

fn of_job(error: &JobError) -> Refusal {
    let text = error.to_string();
    match error {
        JobError::Key(_)
        | JobError::Syntax(_)
        | JobError::NoSuchRelation { .. }
        | JobError::NothingAbout { .. } => Refusal::usage(text),
        JobError::UnknownKey { similar, .. } => {
            let refusal = Refusal::usage(text);
            match suggest::did_you_mean(similar) {
                Some(hint) => refusal.hint(hint),
                None => refusal,
            }
        }
        JobError::Configuration { reason, .. } => Refusal {
            flag: None,
            message: text,
            ..of_job(reason)
        },
        JobError::SeveralWeights { count } => {
            let message = format!("is given {count} times; a model has only one scheme");
            Refusal::flag("weights", message).hint(
                "add schemes up with ' + ' inside one --weights, or weigh them against each other \
                 with `absentia compare`",
            )
        }
        JobError::ExposedWeightAlone => {
            let message = "is the weight of pairs that --exposed names";
            Refusal::flag("exposed-weight", message).hint("pass --exposed FILE as well")
        }
        JobError::ValidMetric(error) => Refusal::flag("valid-metric", format!(": {error}")),
        JobError::MetricLacksCutoff { metric } => {
            let message = format!("{metric}: {metric}@K is needed, a cut-off");
            Refusal::flag("valid-metric", message).hint(format!("write {metric}@20, say"))
        }
        JobError::SeveralStarts { .. } => Refusal::flag("init", "takes P.npy,Q.npy or one model"),
        JobError::StartFactors { factors, .. } => {
            Refusal::usage(text).hint(format!("pass --factors {factors}"))
        }
        JobError::NoWeightColumn => {
            let message = "column: the data has no column of weights";
            Refusal::flag("confidence", message).hint("name it with --weight-col COLUMN")
        }
        JobError::Relation(error) => {
            let refusal = Refusal::usage(text);
            match error.hint() {
                Some(hint) => refusal.hint(hint),
                None => refusal,
            }
        }
        JobError::NoRelations => {
            Refusal::usage(text).hint("train it with --relation, as in items-tags:tags.csv")
        }
        JobError::NothingAdded { .. } => Refusal::usage(text).hint(
            "give it to the relation that adds the type; users and items have --regularization",
        ),
        JobError::UsersHeldOut => {
            Refusal::usage(text).hint("use `absentia split --by users:N` and `evaluate --fold-in`")
        }
        JobError::InterruptedChoosing => Refusal::interrupted(text).hint("no model was saved"),
        error => of_data(error, text),
    }
}

/// Data that does not allow what was requested.
fn of_data(error: &JobError, text: String) -> Refusal {
    let refusal = Refusal::data(text);
    match error {
        JobError::NoRowsLeft => {
            refusal.hint("loosen --min-rating, --k-core, --since, --until, --sample or --exclude")
        }
        JobError::Times(_) => refusal.hint(
            "say the unit with --time-unit s, ms, us or ns, or leave times unread with --time-col none",
        ),
        JobError::Duplicate { .. } => refusal.hint(MERGE),
        JobError::NothingKnown { .. } => refusal.hint(
            "check that the ids are those of the training data; users held out whole are measured \
             by `evaluate --fold-in FILE`, from their history",
        ),
        JobError::SplitLacks(_) => refusal.hint(
            "name the column with --time-col, or pick rows at random with --pick random (train: \
             --valid-pick random)",
        ),
        JobError::HeldOutWithoutRatings { .. } => refusal.hint(
            "--min-rating holds for held-out rows as well: name their column with --rating-col",
        ),
        JobError::HeldOutRatedLow { .. } => refusal.hint("lower --min-rating"),
        JobError::NoSharedIds { .. } => refusal.hint(
            "the first column of the file has the ids of the first type, the second those of the second: are they \
             the ids of the data?",
        ),
        JobError::FirstLine { .. } => refusal.hint(
            "say header=yes behind the file if they are names, as in items-tags:tags.csv,header=yes, or header=no if they \
             are a row",
        ),
        JobError::OtherContent { .. } => refusal.hint("give the file as in training, with or without dense=yes"),
        JobError::NoAttributeKnown { .. } => {
            refusal.hint("check that the ids are those of the file it was trained with")
        }
        JobError::FeatureColumns { names, .. } => {
            refusal.hint(format!("the model has the columns {names} ..."))
        }
        JobError::FeatureIds { .. } => refusal.hint(
            "name a file with the id of each row, one a line: ids=FILE; give a table with the ids in its first column \
             and dense=yes; or number the data by rows with --dense-ids",
        ),
        JobError::FeatureType { .. } => {
            refusal.hint("write TYPE-NAME with a new name for the columns, as in items-vectors")
        }
        JobError::RelationData { .. } => refusal.hint("correct the file of the relation"),
        JobError::NothingToValidateOn => refusal.hint("check --valid or --valid-split"),
        JobError::NothingScored { .. } => refusal.hint(
            "no model was saved; check --valid, choose another --valid-metric, or train without validation",
        ),
        JobError::NotConvex { .. } => {
            refusal.hint("use method=nonnegative for dense weights, or raise --regularization")
        }
        JobError::RowWeight { axis, id, total } => Refusal::data(format!(
            "the total weight of {axis} {id:?} is {total}, so its power --reg-exponent is not defined"
        ))
        .hint("use method=nonnegative for dense weights, or --reg-exponent 0"),
        JobError::OtherData { .. } | JobError::UnknownData { .. } => {
            refusal.hint("resume with the files and flags the run was started with, or leave out --resume")
        }
        JobError::OtherSettings {
            path,
            key,
            then,
            now,
        } => Refusal::data(format!(
            "{}: the checkpoint cannot be resumed with these settings: it was started with --{key} \
             {then}, this run has --{key} {now}",
            path.display()
        ))
        .hint(format!(
            "pass --{key} {then}, or start afresh without --resume"
        )),
        _ => Refusal {
            exit: Exit::Failed,
            ..refusal
        },
    }
}
