//! The limits of a job. Nothing can be unlimited: a limit has a default and a
//! ceiling, and no name for "off".

use std::time::Duration;

use antiphon_core::{Fault, FaultCode};
use serde::Serialize;
use serde_json::{Map, Number, Value as Json, json};

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

/// The limits of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SandboxLimits {
    /// From its start to its end, host calls included. 5 s; at most 300 s.
    pub wall: Duration,
    /// Processor time. `wall` and a second; at most 301 s.
    pub cpu: Duration,
    /// Bytes of address space beyond what its worker starts with. 256 MiB,
    /// 512 MiB with packages for data; at most 8 GiB.
    pub memory: u64,
    /// Bytes of standard output that are kept. 256 KiB; at most 16 MiB.
    pub stdout: u64,
    /// Bytes of standard error that are kept. 256 KiB; at most 16 MiB.
    pub stderr: u64,
    /// Bytes of the value as JSON. 1 MiB; at most 16 MiB.
    pub value: u64,
    /// Bytes of all variables as JSON. 1 MiB; at most 16 MiB.
    pub locals: u64,
    /// Bytes of each table as Arrow, and half of what all may have. 64 MiB; at most 1 GiB.
    pub tables: u64,
    /// Bytes of each figure as PNG, and a quarter of what all may have. 5 MiB; at most 64 MiB.
    pub figures: u64,
    /// Calls of the host's functions. 1,000; at most 100,000.
    pub host_calls: u64,
    /// Bytes of its own files. 16 MiB; at most 1 GiB.
    pub scratch: u64,
    /// Open files. 64; at most 1,024.
    pub files: u64,
    /// Bytes of the source text. 256 KiB; at most 1 MiB.
    pub source: u64,
}

/// What cannot be set, because nobody needs more of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct SandboxBudget {
    /// Bytes of the value as JSON.
    pub value_bytes: u64,
    /// Nodes of a value.
    pub value_nodes: u64,
    /// Levels of a value.
    pub value_depth: u64,
    /// Variables.
    pub local_names: u64,
    /// Bytes of one variable as JSON.
    pub local_bytes: u64,
    /// Bytes of all variables as JSON.
    pub locals_bytes: u64,
    /// Tables.
    pub tables: u64,
    /// Bytes of one table.
    pub table_bytes: u64,
    /// Bytes of all tables together.
    pub tables_bytes: u64,
    /// Figures.
    pub figures: u64,
    /// Bytes of one figure.
    pub figure_bytes: u64,
    /// Bytes of all figures together.
    pub figures_bytes: u64,
    /// Pixels of one figure.
    pub figure_pixels: u64,
    /// Bytes of the arguments of one host call as JSON.
    pub argument_bytes: u64,
}

/// A row of the table: name, default, ceiling.
struct LimitRow(&'static str, u64, u64);

/// Seconds for `wall` and `cpu`, bytes or numbers for the rest. The default
/// of `cpu` follows `wall`.
const ROWS: [LimitRow; 13] = [
    LimitRow("wall", 5, 300),
    LimitRow("cpu", 6, 301),
    LimitRow("memory", 256 * MIB, 8 * GIB),
    LimitRow("stdout", 256 * KIB, 16 * MIB),
    LimitRow("stderr", 256 * KIB, 16 * MIB),
    LimitRow("value", MIB, 16 * MIB),
    LimitRow("locals", MIB, 16 * MIB),
    LimitRow("tables", 64 * MIB, GIB),
    LimitRow("figures", 5 * MIB, 64 * MIB),
    LimitRow("host_calls", 1_000, 100_000),
    LimitRow("scratch", 16 * MIB, GIB),
    LimitRow("files", 64, 1_024),
    LimitRow("source", 256 * KIB, MIB),
];

/// Below this an interpreter cannot even say that it has no room.
const LEAST_FILES: u64 = 8;

impl Default for SandboxLimits {
    fn default() -> Self {
        let [
            _,
            _,
            memory,
            stdout,
            stderr,
            value,
            locals,
            tables,
            figures,
            calls,
            scratch,
            files,
            source,
        ] = ROWS.map(|row| row.1);
        Self {
            wall: Duration::from_secs(5),
            cpu: Duration::from_secs(6),
            memory,
            stdout,
            stderr,
            value,
            locals,
            tables,
            figures,
            host_calls: calls,
            scratch,
            files,
            source,
        }
    }
}

impl SandboxLimits {
    /// The complete table out of those that are given by name: what is missing
    /// has its default (`data`: for jobs with packages for data), what is null
    /// its ceiling.
    ///
    /// # Errors
    /// `sandbox_limit_invalid` for an unknown name, or for a value that is no
    /// number, not above zero, or above its ceiling.
    pub fn complete(given: &Map<String, Json>, data: bool) -> Result<Self, Fault> {
        if let Some(name) = given.keys().find(|name| ROWS.iter().all(|row| row.0 != *name)) {
            let known: Vec<_> = ROWS.iter().map(|row| row.0).collect();
            return Err(invalid(format!("unknown limit of a sandbox: {name}"))
                .hint(format!("the limits are {}", known.join(", "))));
        }
        let mut table = Self::default();
        if data {
            table.memory = 512 * MIB;
        }
        for row in ROWS {
            match given.get(row.0) {
                None if row.0 == "cpu" => {
                    table.cpu = table.wall.saturating_add(Duration::from_secs(1));
                }
                None => {}
                Some(Json::Null) => table.set(row.0, &Number::from(row.2))?,
                Some(Json::Number(number)) => {
                    within(&row, number)?;
                    table.set(row.0, number)?;
                }
                Some(other) => {
                    return Err(invalid(format!("`{}` must be a number: {other}", row.0)));
                }
            }
        }
        Ok(table)
    }

    /// The table by name, seconds as numbers with a fraction.
    pub fn to_json(&self) -> Map<String, Json> {
        let table = json!({
            "wall": self.wall.as_secs_f64(),
            "cpu": self.cpu.as_secs_f64(),
            "memory": self.memory,
            "stdout": self.stdout,
            "stderr": self.stderr,
            "value": self.value,
            "locals": self.locals,
            "tables": self.tables,
            "figures": self.figures,
            "host_calls": self.host_calls,
            "scratch": self.scratch,
            "files": self.files,
            "source": self.source,
        });
        if let Json::Object(table) = table { table } else { Map::new() }
    }

    /// The limits of the guest's encoder.
    pub fn budget(&self) -> SandboxBudget {
        SandboxBudget {
            value_bytes: self.value,
            value_nodes: 100_000,
            value_depth: 64,
            local_names: 200,
            local_bytes: (64 * KIB).min(self.locals),
            locals_bytes: self.locals,
            tables: 8,
            table_bytes: self.tables,
            tables_bytes: 2 * self.tables,
            figures: 10,
            figure_bytes: self.figures,
            figures_bytes: 4 * self.figures,
            figure_pixels: 16_000_000,
            argument_bytes: MIB,
        }
    }

    fn set(&mut self, name: &str, number: &Number) -> Result<(), Fault> {
        let seconds = || number.as_f64().map(Duration::try_from_secs_f64).and_then(Result::ok);
        let slot = match name {
            "wall" => {
                return seconds().map(|time| self.wall = time).ok_or_else(|| odd(name, number));
            }
            "cpu" => return seconds().map(|time| self.cpu = time).ok_or_else(|| odd(name, number)),
            "memory" => &mut self.memory,
            "stdout" => &mut self.stdout,
            "stderr" => &mut self.stderr,
            "value" => &mut self.value,
            "locals" => &mut self.locals,
            "tables" => &mut self.tables,
            "figures" => &mut self.figures,
            "host_calls" => &mut self.host_calls,
            "scratch" => &mut self.scratch,
            "files" => &mut self.files,
            _ => &mut self.source,
        };
        *slot = number.as_u64().ok_or_else(|| odd(name, number))?;
        Ok(())
    }
}

fn within(row: &LimitRow, number: &Number) -> Result<(), Fault> {
    let LimitRow(name, _, ceiling) = *row;
    let value = number.as_f64().unwrap_or_default();
    if value <= 0.0 {
        return Err(invalid(format!("`{name}` must be above zero: {number}"))
            .hint("limits cannot be switched off; omit it for the default"));
    }
    #[expect(clippy::cast_precision_loss, reason = "ceilings are far below 2^53")]
    let ceiling_value = ceiling as f64;
    if value > ceiling_value {
        return Err(invalid(format!("`{name}` must be at most {ceiling}: {number}"))
            .hint("`None` selects the maximum"));
    }
    if name == "files" && value < 8.0 {
        return Err(invalid(format!("`files` must be at least {LEAST_FILES}: {number}")));
    }
    Ok(())
}

fn odd(name: &str, number: &Number) -> Fault {
    invalid(format!("`{name}` must be an integer: {number}"))
}

fn invalid(message: String) -> Fault {
    Fault::new(FaultCode::SandboxLimitInvalid, message)
}
