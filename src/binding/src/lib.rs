//! What Python sees of antiphon's engine. Nothing here decides anything: it
//! defines classes, converts values, calls callables, and maps failures.

#![expect(clippy::needless_pass_by_value, reason = "PyO3 says what methods take")]

use pyo3::prelude::*;

mod driver;
mod fault;
mod ffi;
mod graph;
mod mcp;
mod sandbox;
mod system;
mod thread;
mod value;

/// The native half of antiphon. It wants the interpreter lock, which `ffi::GilCell` relies on.
#[pymodule(gil_used = true)]
mod _antiphon {
    #[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
    #[pymodule_export]
    use crate::sandbox::zygote::SandboxZygote;
    #[pymodule_export]
    use crate::{
        driver::{
            event::Event,
            pool::set_thread_limit,
            run::Run,
            stream_options::{StreamOptions, select},
        },
        fault::Retry,
        graph::{
            builder::Builder,
            context::{check_enclosing_node, current_context, enclosing_context},
            effect::Effect,
            engine::Engine,
            limits::Limits,
            model::Model,
            task_context::Context,
            tool::{NativeTool, error_in_result, open_tools, remote_sql_tools, tool_families},
            tool_gate::{PyGatedCall, PyToolGate},
            turn_input::TurnInput,
        },
        mcp::{
            client::NativeMcpClient,
            server::{CallClient, NativeMcpServer, serve_mcp_stdio},
        },
        sandbox::{
            attachments::{sandbox_figure, sandbox_json, sandbox_outcome, sandbox_table},
            limits::{sandbox_budget, sandbox_limits},
            native_sandbox::{NativeSandbox, NativeSession, sandbox_probe},
        },
        system::{
            cancellation_token::PyCancellationToken,
            model_call::ModelCall,
            native_queue::NativeQueue,
            native_system::{NativeSystem, systems},
            native_worker::NativeWorker,
            paused_run::PyPausedRun,
            proposal::Proposal,
        },
        thread::{
            history::History,
            langgraph_threads::LangGraphThreads,
            pending_result::PendingResult,
            saver::{MemorySaver, Saver, postgres::PostgresSaver, sqlite::SqliteSaver},
            summary::{
                CheckpointSummary, PruneReport, RekeyReport, RunSummary, ThreadDetail,
                ThreadSummary,
            },
            thread_ref::ThreadRef,
        },
        value::{
            codec::TypeCodec,
            command::{Command, Overwrite, Send},
            isolation::{has_changed, isolated},
            markdown::markdown_html,
            redact::PieceRedactor,
            schema::CompiledSchema,
            values::Values,
        },
    };

    #[pymodule_init]
    fn init(module: &pyo3::Bound<'_, pyo3::types::PyModule>) -> pyo3::PyResult<()> {
        crate::driver::forks::install(module.py())?;
        crate::driver::exit_gate::install(module.py(), crate::driver::worker_pool::close)
    }
}
