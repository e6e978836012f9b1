//! What Python sees of antiphon's engine. Nothing here decides anything: it
//! defines classes, converts values, calls callables, and maps failures.

#![expect(clippy::needless_pass_by_value, reason = "PyO3 says what methods take")]

use pyo3::prelude::*;

mod admin;
mod agent;
mod asking;
mod begin;
mod blocking;
mod builder;
mod call;
mod chance;
mod codec;
mod command;
mod computation;
mod context;
mod core;
mod coroutine;
mod drive;
mod drive_lock;
mod effect;
mod engine;
mod event;
mod exit_gate;
mod fault;
mod ffi;
mod forks;
mod given;
mod handle;
mod history;
mod host;
mod inbox;
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod jail;
mod json;
mod kept;
mod leash;
mod limits;
mod model;
mod native;
mod native_runtime;
mod node_variables;
mod object;
mod options;
mod orphans;
mod picture;
mod place;
mod pool;
mod ported;
mod ported_sandbox;
mod proposal;
mod put;
mod question;
mod review_loop;
mod role;
mod role_call;
mod role_effect;
mod run;
mod run_id;
mod sandbox;
mod sandbox_limits;
mod saver;
mod sent;
mod shape;
mod shelves;
mod show;
mod standby;
mod start;
mod step;
mod stopper;
mod storable;
mod stored;
mod stranded;
mod stream;
mod subrun;
mod summary;
mod turn;
mod update;
mod values;
mod wait;
mod wake;
mod worker_pool;

/// The native half of antiphon.
#[pymodule]
mod _antiphon {
    #[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
    #[pymodule_export]
    use crate::jail::Jail;
    #[pymodule_export]
    use crate::{
        builder::Builder,
        codec::Form,
        command::{Command, Overwrite, Send},
        computation::Computation,
        context::{Context, check_enclosing_node, current_context, enclosing_context},
        effect::Effect,
        engine::Engine,
        event::Event,
        fault::Retry,
        history::History,
        limits::Limits,
        model::Model,
        place::Place,
        pool::set_thread_limit,
        proposal::Proposal,
        review_loop::ReviewLoop,
        role_call::{ModelCall, RoleCall},
        run::Run,
        sandbox::{NativeSandbox, NativeSession, sandbox_probe},
        sandbox_limits::sandbox_limits,
        saver::{MemorySaver, PostgresSaver, Saver, SqliteSaver},
        sent::{sandbox_figure, sandbox_json, sandbox_table},
        shape::{Shape, select},
        shelves::Shelves,
        standby::drive_meanwhile,
        step::{begin_inside, resume_inside},
        stopper::Stopper,
        summary::{CheckpointSummary, Pruned, Rekeyed, RunSummary, ThreadDetail, ThreadSummary},
        turn::Turn,
        values::Values,
    };

    #[pymodule_init]
    fn init(module: &pyo3::Bound<'_, pyo3::types::PyModule>) -> pyo3::PyResult<()> {
        crate::exit_gate::install(module.py())
    }
}
