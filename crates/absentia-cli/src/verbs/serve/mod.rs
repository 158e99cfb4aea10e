//! `serve`: recommendations over HTTP, and events that change them.

mod address;
mod demo;
mod refused;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use absentia::online::WeightMode;
use absentia_online::Opening;
use absentia_report::format;
use absentia_serve::state::Folder;
use absentia_serve::store::SqliteStore;
use absentia_serve::{Ready, Scope, ServeOptions, Settings, new_key, serve};
use anyhow::{Context as _, Result};
use serde_json::json;

use crate::cli::Context;
use crate::failure::{Outcome, Refusal};
use crate::guard::Files;
use address::parse_address;
use refused::refused;

const EXAMPLES: &str = "\
Examples:
  $ absentia serve movies.absentia
  $ curl \"localhost:8080/v1/users/ann/recommendations?n=5\"
  $ absentia serve --folder shop --new-key write
  $ absentia serve movies.absentia --folder shop --address 0.0.0.0:8080
  $ absentia serve --demo

The data folder has everything: events, catalogue, keys and models. The model file is needed for the first
start, and to bring in a new model. Requests from this machine need no key; a server that can be reached from
other machines does not start without one. /docs on the server describes the API.";

/// Serve recommendations over HTTP and learn from events.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Serve {
    /// The model; not needed if the data folder has one.
    #[arg(value_name = "MODEL")]
    model: Option<PathBuf>,
    /// Files that the model was trained on; those named in the model if not given. A model that has
    /// learned from events has them.
    #[arg(long, value_name = "FILE", num_args = 1)]
    train: Vec<String>,
    /// Data folder: events, catalogue, keys, models [default: absentia-data, or absentia-demo].
    #[arg(long, value_name = "FOLDER")]
    folder: Option<PathBuf>,
    /// Address and port to listen on; a port alone is one of this machine, which others do not reach.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8080", value_parser = parse_address)]
    address: SocketAddr,
    /// TOML file with kinds of events, their weights, and limits.
    #[arg(long, value_name = "FILE")]
    settings: Option<PathBuf>,
    /// Let weights by popularity and activity follow the counts, instead of staying as at training.
    #[arg(long)]
    live: bool,
    /// Log every request, not only those that failed.
    #[arg(long)]
    log_requests: bool,
    /// Make a key with the scope read, write or admin, print it, and stop.
    #[arg(long, value_name = "SCOPE", value_parser = parse_scope)]
    new_key: Option<Scope>,
    /// Days after which the new key expires; never if not given.
    #[arg(long, value_name = "DAYS", requires = "new_key")]
    expires: Option<u32>,
    /// Serve a built-in shop of films with titles; no model is needed.
    #[arg(long, conflicts_with_all = ["model", "train"])]
    demo: bool,
    /// Check the data folder and learn its events as at a start, and stop.
    #[arg(long)]
    check: bool,
}

fn parse_scope(text: &str) -> Result<Scope, String> {
    Scope::parse(text).ok_or_else(|| "expected read, write or admin".to_owned())
}

impl Serve {
    /// Every file that the command reads or writes.
    pub(crate) fn files(&self) -> Files {
        Files::default()
            .reads("MODEL", &self.model)
            .reads("--train", &self.train)
            .reads("--settings", &self.settings)
            .writes("--folder", self.own_files())
    }

    fn folder(&self) -> PathBuf {
        let default = if self.demo {
            "absentia-demo"
        } else {
            "absentia-data"
        };
        self.folder.clone().unwrap_or_else(|| default.into())
    }

    /// The files of the data folder, and its database even if it is not there yet.
    fn own_files(&self) -> Vec<PathBuf> {
        let folders = [self.folder(), self.folder().join("states")];
        let entries = folders
            .iter()
            .filter_map(|folder| std::fs::read_dir(folder).ok());
        let paths = entries
            .flatten()
            .filter_map(|entry| Some(entry.ok()?.path()));
        let database = Folder::database(&self.folder());
        let mut files: Vec<PathBuf> = paths
            .filter(|path| path.is_file() && *path != database)
            .collect();
        files.push(database);
        files
    }

    pub(crate) fn run(&self, context: &Context) -> Result<Outcome> {
        self.check_folder()?;
        if let Some(scope) = self.new_key {
            return self.make_key(scope, context);
        }
        let mut settings = match &self.settings {
            Some(path) => Settings::read(path).map_err(refused)?,
            None => Settings::default(),
        };
        settings.log_requests |= self.log_requests;
        let (folder, mut model) = (self.folder(), self.model.clone());
        if self.demo {
            model = Some(demo::prepare(&folder)?);
        }
        let options = ServeOptions {
            folder,
            model,
            opening: Opening {
                train: self.train.clone(),
                weights: if self.live {
                    WeightMode::Live
                } else {
                    WeightMode::Frozen
                },
                weighted_events: true,
                ..Opening::default()
            },
            address: self.address,
            settings,
        };
        let mut trouble = None;
        let served = serve(&options, &context.ui, |ready| {
            trouble = self.ready(ready, context).err();
        });
        served.map_err(refused)?;
        match trouble {
            Some(error) => Err(error),
            None => Ok(Outcome::Done),
        }
    }

    /// Says where the server listens, and lets Ctrl-C end it.
    fn ready(&self, ready: &Ready, context: &Context) -> Result<()> {
        if self.check {
            ready.stop();
        } else {
            let on_interrupt = ready.clone();
            ctrlc::set_handler(move || on_interrupt.stop())?;
        }
        context.ui.json(&json!({
            "address": ready.address.to_string(), "replayed": ready.replayed, "seconds": ready.seconds,
        }))?;
        let events = format::counted(ready.replayed, "record");
        let learned = format!("learned {events} in {:.2} s", ready.seconds);
        context.ui.say(if self.check {
            format!("the data folder is sound: {learned}")
        } else {
            format!(
                "listening on http://{} ({learned}, memory up to {}); dashboard at /dashboard, API at /docs",
                ready.address,
                format::bytes(context.ui.memory().largest().total())
            )
        })?;
        Ok(())
    }

    /// Rejects a file in the place of the data folder.
    fn check_folder(&self) -> Result<(), Refusal> {
        let folder = self.folder();
        if !folder.exists() || folder.is_dir() {
            return Ok(());
        }
        let refusal = Refusal::usage(format!("--folder {}: is not a folder", folder.display()));
        Err(refusal.hint("name the folder that has the data of the server, or is to have it"))
    }

    fn make_key(&self, scope: Scope, context: &Context) -> Result<Outcome> {
        let folder = self.folder();
        std::fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
        let mut store = opened(&folder)?;
        let key =
            new_key(&mut store, scope, self.expires).map_err(|error| refused(error.into()))?;
        context
            .ui
            .json(&json!({"key": key, "scope": scope.name()}))?;
        context.ui.say(key)?;
        context
            .ui
            .note("the key is shown once; send it as `Authorization: Bearer KEY`");
        Ok(Outcome::Done)
    }
}

fn opened(folder: &Path) -> Result<SqliteStore> {
    SqliteStore::open(&Folder::database(folder), 0).map_err(|error| refused(error.into()))
}
