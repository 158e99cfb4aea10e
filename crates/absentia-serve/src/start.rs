//! Starting and stopping the server.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use absentia::error::Axis;
use absentia::memory::Stage;
use absentia::ranking::IndexedItems;
use absentia_job::{JobError, Listener};
use absentia_online::{Learner, Opening};
use serde_json::json;
use tokio::net::TcpListener;
use tokio::sync::watch;

use crate::api::{Listening, listen};
use crate::auth::Keys;
use crate::catalogue::Catalogue;
use crate::clock::now_ms;
use crate::core::Core;
use crate::error::ServeError;
use crate::log;
use crate::settings::{Limits, Settings};
use crate::state::{Folder, Live, Prepared, State, Writer, finish_erasures, import, model_digest};
use crate::store::{Activation, Change, ModelEntry, SqliteStore, Store, StoreReader};

/// What a server is started with.
#[derive(Clone, Debug)]
pub struct ServeOptions {
    /// The data folder.
    pub folder: PathBuf,
    /// A model, as a file or a folder; not needed if the data folder has a model.
    pub model: Option<PathBuf>,
    /// How a model that has not learned from events is opened.
    pub opening: Opening,
    /// Where to listen.
    pub address: SocketAddr,
    /// Kinds of events, limits.
    pub settings: Settings,
}

/// A server that listens.
#[derive(Clone, Debug)]
pub struct Ready {
    /// Where it listens.
    pub address: SocketAddr,
    /// Records that were learned at the start.
    pub replayed: u64,
    /// Seconds that the start took.
    pub seconds: f64,
    stop: watch::Sender<bool>,
}

impl Ready {
    /// Ends the server: it accepts nothing any more, and finishes what it has begun.
    pub fn stop(&self) {
        let _ = self.stop.send(true);
    }
}

/// Serves until it is stopped. `ready` is called when requests are accepted.
///
/// # Errors
/// A folder or model that cannot be opened, a database that is damaged, an address that cannot be used.
pub fn serve(
    options: &ServeOptions,
    listener: &dyn Listener,
    ready: impl FnOnce(&Ready),
) -> Result<(), ServeError> {
    let start = Instant::now();
    let first = first_model(options, listener)?;
    let folder = Arc::new(Folder::open(&options.folder)?);
    let limit = options.settings.limits.database_bytes;
    let mut store = SqliteStore::open(&Folder::database(&options.folder), limit)?;
    store.verify()?;
    register(&mut store, &folder, (options, first), listener)?;
    let opened = open_active(&mut store, &folder, &options.settings.limits, listener)?;
    let (saved, replayed) = (opened.saved, opened.replayed);
    let keys = Keys::default();
    keys.load(&store)?;
    let is_loopback = options.address.ip().is_loopback();
    if (!is_loopback || options.settings.require_key) && keys.is_empty() {
        return Err(ServeError::NoKey(options.address.to_string()));
    }
    let catalogue = Catalogue::read(&store)?;
    let settings = options.settings.clone();
    settings.warn_of_unused_weights(opened.live.read().learner.online().confidence());
    let core = Arc::new(Core::new(
        settings,
        folder.clone(),
        opened.live,
        catalogue,
        keys,
    ));
    let last = store.models()?.iter().map(|model| model.version).max();
    core.jobs.start_versions(last.unwrap_or(0));
    let sequence = core.live().read().sequence;
    core.status.committed(sequence);
    core.status.learned(sequence);
    // Whether events can be stored is known before the first one comes.
    core.status.note_commit(&store.probe());

    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_io()
        .enable_time()
        .build()
        .map_err(ServeError::io("starting threads"))?;
    let socket = runtime.block_on(TcpListener::bind(options.address));
    let socket = socket.map_err(ServeError::io(options.address.to_string()))?;
    let address = socket.local_addr().map_err(ServeError::io("the address"))?;
    let ranking = core.rankings.start(&core, &store)?;
    let watching = watch_keys(core.clone(), store.reader()?);
    let writer = Writer::new(core.clone(), Box::new(store), folder, saved);
    let writing = thread::spawn(move || writer.run());
    let (stop, stopping) = watch::channel(false);
    let seconds = start.elapsed().as_secs_f64();
    ready(&Ready {
        address,
        replayed,
        seconds,
        stop: stop.clone(),
    });
    let listening = Listening {
        socket,
        is_loopback,
    };
    runtime.block_on(listen(core.clone(), listening, stopping));
    end(&core, ranking, writing, watching);
    drop((stop, runtime));
    Ok(())
}

/// Finishes what has begun.
fn end(core: &Core, ranking: Vec<JoinHandle<()>>, writing: JoinHandle<()>, keys: JoinHandle<()>) {
    core.status.stop();
    core.jobs.stop();
    core.rankings.close();
    core.writes.close();
    for thread in ranking.into_iter().chain([writing, keys]) {
        let _ = thread.join();
    }
}

/// Reads the keys again every second: another process may have made one.
fn watch_keys(core: Arc<Core>, store: Box<dyn StoreReader>) -> JoinHandle<()> {
    thread::spawn(move || {
        let mut turn = 0_u32;
        while !core.status.is_stopping() {
            thread::sleep(Duration::from_millis(100));
            turn += 1;
            if turn.is_multiple_of(10) {
                let _ = core.keys.load(&*store);
            }
        }
    })
}

/// The first model of a data folder that is not there yet: no folder is made unless there is one to serve.
fn first_model(
    options: &ServeOptions,
    listener: &dyn Listener,
) -> Result<Option<Learner>, ServeError> {
    if Folder::database(&options.folder).exists() {
        return Ok(None);
    }
    match &options.model {
        Some(path) => import(path, &options.opening, &[], listener).map(Some),
        None => Err(ServeError::NoModel(options.folder.display().to_string())),
    }
}

/// Registers and activates the model file, unless it is the one of a model that is known. It may have been opened.
fn register(
    store: &mut SqliteStore,
    folder: &Folder,
    (options, opened): (&ServeOptions, Option<Learner>),
    listener: &dyn Listener,
) -> Result<(), ServeError> {
    let models = store.models()?;
    let versions: Vec<u64> = models.iter().map(|model| model.version).collect();
    folder.remove_unregistered(&versions);
    let Some(path) = &options.model else {
        return Ok(());
    };
    let digest = model_digest(path)?;
    if models.iter().any(|model| model.digest == digest) {
        return Ok(());
    }
    let learner = match opened {
        Some(learner) => learner,
        None => import(path, &options.opening, &store.erased_users()?, listener)?,
    };
    let (version, sequence) = (versions.iter().max().unwrap_or(&0) + 1, 0);
    learner.save(&folder.state(version, sequence))?;
    let (source, created) = (format!("the file {}", path.display()), now_ms());
    let model = ModelEntry {
        version,
        source,
        digest,
        sequence,
        created,
    };
    let activation = Activation {
        version,
        at: created,
        is_roll_back: false,
    };
    store.commit(&[Change::Model(model), Change::Activate(activation)])?;
    Ok(())
}

struct Active {
    live: Live,
    saved: u64,
    replayed: u64,
}

/// The memory of serving, beside the model and its ids: an index and the one that takes its place, a copy
/// of the state while it is saved, one while caches are compared, and the model as it was trained.
fn serving(learner: &Learner, limits: &Limits) -> Stage {
    let online = learner.online();
    let (users, items) = (online.n_rows(Axis::User), online.n_rows(Axis::Item));
    let k = online.factors(Axis::Item).cols();
    let factors = (4 * k * (users + items)) as u64;
    let saving = learner.learning_stage(&[], true);
    let (shortlists, rows) = Prepared::bytes_of_shortlists(online, limits.shortlist_bytes());
    Stage::new("serving")
        .with("indexes of items", 2 * IndexedItems::bytes(items, k))
        .with("shortlists of users", 2 * shortlists)
        .with("rows that they are made from", rows)
        .with("model as it was trained", factors)
        .with("a copy whose caches are compared", factors)
        .with("a copy that is saved", saving.total())
}

/// Opens the active model with all records learned.
fn open_active(
    store: &mut SqliteStore,
    folder: &Folder,
    limits: &Limits,
    listener: &dyn Listener,
) -> Result<Active, ServeError> {
    let Some(&Activation { version, .. }) = store.activations()?.last() else {
        return Err(ServeError::NoModel(folder.path().display().to_string()));
    };
    let mut opened = folder.load(version, store.last_sequence()?, listener)?;
    for warning in &opened.warnings {
        log::line("state_not_loaded", json!({"message": warning}));
    }
    let mut saved = opened.sequence;
    let replayed = opened.replay(store)?;
    listener
        .enter(serving(&opened.learner, limits))
        .map_err(|error| ServeError::Learn(JobError::from(error).into()))?;
    let live = Live::new(version, State::new(opened.learner, opened.sequence));
    let begun = store.erasures_begun()?;
    if !begun.is_empty() {
        finish_erasures(store, &live, folder, &begun)?;
        saved = live.read().sequence;
    }
    Ok(Active {
        live,
        saved,
        replayed,
    })
}
