//! `export`: factors for other programs.

use std::path::PathBuf;

use absentia::memory::Stage;
use absentia_io::model::{ExportOptions, Layout, export};
use absentia_job::Listener as _;
use anyhow::Result;
use serde_json::json;

use crate::args::parse_folder;
use crate::cli::Context;
use crate::failure::Outcome;
use crate::guard::Files;
use crate::store;

const EXAMPLES: &str = "\
Examples:
  $ absentia export movies.absentia --out factors
  $ absentia export movies.absentia --out tables --layout parquet
  $ absentia export movies.absentia --out index --layout faiss
  $ absentia export movies.absentia --out scorer --layout onnx

npy: P.npy, Q.npy, users.txt and items.txt. The layouts of nearest-neighbour libraries (faiss,
usearch, hnswlib) hold item factors as they are ranked by, post-scaling included. faiss has an index
that faiss.read_index opens; onnx is a scorer for ONNX runtimes: rows of users (user) and the length
of the lists (k) in, the scores of all items and the best items out. Files of an earlier
export are replaced all at once, which takes a folder without folders in it that is not the current one.";

/// Write the factors of a model for other programs.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Export {
    /// The model.
    #[arg(value_name = "MODEL")]
    model: PathBuf,
    /// Folder to write to; made if it is not there.
    #[arg(long, short, value_name = "FOLDER", value_parser = parse_folder)]
    out: PathBuf,
    /// npy, parquet (with ids), faiss, onnx, usearch or hnswlib.
    #[arg(long, value_name = "NAME", default_value = "npy", value_parser = parse_layout)]
    layout: Layout,
    /// Multiply item factors by the post-scaling n_i^ρ.
    #[arg(long, conflicts_with = "as_trained")]
    scaled: bool,
    /// Leave item factors as they were trained.
    #[arg(long)]
    as_trained: bool,
}

impl Export {
    /// Every file that the command reads or writes.
    pub(crate) fn files(&self) -> Files {
        let names = self.layout.files();
        Files::default()
            .reads("MODEL", [&self.model])
            .writes("--out", names.into_iter().map(|name| self.out.join(name)))
    }

    pub(crate) fn run(&self, context: &Context) -> Result<Outcome> {
        let stored = store::load(&self.model, &context.ui)?;
        let options = ExportOptions {
            layout: self.layout,
            post_scale: match (self.scaled, self.as_trained) {
                (true, _) => Some(true),
                (_, true) => Some(false),
                _ => None,
            },
        };
        let (model, ids) = stored.into_parts();
        let stage = Stage::new("writing factors");
        context
            .ui
            .enter(stage.with("work", options.layout.bytes(&model)))?;
        let files = export(&model, &ids, &self.out, options)?;
        let apart = model.item_scale().is_some() && !options.scales();
        context.ui.json(&json!({
            "layout": self.layout.name(), "files": files, "scale_apart": apart,
        }))?;
        for file in files {
            context.ui.note(format!("wrote {}", file.display()));
        }
        if apart {
            let scale = match self.layout {
                Layout::Npy => "item_scale.npy",
                Layout::Parquet => "the column scale of items.parquet",
                _ => "a post-scaling that is not in these files",
            };
            context.ui.warn(format!(
                "P·Q alone is not the ranking of this model: each item's score is multiplied by \
                 {scale}; export with --scaled to have it in the item factors"
            ));
        }
        Ok(Outcome::Done)
    }
}

fn parse_layout(text: &str) -> Result<Layout, String> {
    let found = Layout::ALL.into_iter().find(|layout| layout.name() == text);
    found.ok_or_else(|| "expected npy, parquet, faiss, onnx, usearch or hnswlib".to_owned())
}
