//! Runs blocks of model-written Python and dispatches their tool calls.
//!
//! A run reads from the top: [`Turn`] → one event loop per block → dispatcher → tool providers. The engine knows
//! runtimes and providers by their traits only.

mod admission;
mod block;
mod capture;
mod connection;
mod dispatch;
mod engine;
mod event;
mod ids;
mod images;
mod keep;
mod limits;
mod outcome;
mod output;
mod parking;
mod turn;

pub use admission::EngineLimits;
pub use engine::{BuildError, Engine, EngineBuilder, ProviderReport};
pub use event::{Event, Observer};
pub use ids::{BlockNumber, CallNumber, TurnId};
pub use limits::TurnLimits;
pub use outcome::{
    BlockOutcome, BlockState, CallRecord, CapturedText, Ending, LossCause, ResultValue, Started,
    StopReason,
};
pub use turn::{Execution, FileError, Stop, Turn};
