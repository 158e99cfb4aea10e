//! The commands, one file each.

mod card;
pub(crate) mod compare;
pub(crate) mod completions;
pub(crate) mod convert;
pub(crate) mod demo;
pub(crate) mod describe;
pub(crate) mod evaluate;
pub(crate) mod explain;
pub(crate) mod export;
pub(crate) mod generate;
pub(crate) mod import;
pub(crate) mod inspect;
pub(crate) mod recommend;
pub(crate) mod reproduce;
pub(crate) mod serve;
pub(crate) mod similar;
pub(crate) mod split;
pub(crate) mod stream;
pub(crate) mod train;
pub(crate) mod tune;
