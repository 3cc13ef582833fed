//! Many turns on one engine: who may run, who waits, and what becomes of turns that nobody uses.

use std::{num::NonZeroUsize, time::Duration};

use codehatch::{
    BlockState, Ending, EngineLimits, Event, LossCause, TurnLimits, function::FunctionTool,
};
use tokio::{sync::watch, time::sleep};

use crate::support::session::{Session, Setup};

/// A tool that answers when the sender says so.
fn gate() -> (watch::Sender<bool>, FunctionTool) {
    let (open, opened) = watch::channel(false);
    let any = serde_json::json!({"type": "object"});
    let tool = FunctionTool::raw("wait", any, move |args| {
        let mut opened = opened.clone();
        async move {
            // If the test has ended, nobody is left to wait for.
            let _opened = opened.wait_for(|open| *open).await;
            Ok(args)
        }
    });
    (open, tool)
}

#[tokio::test]
async fn a_block_without_a_place_waits_outside_of_its_own_time() {
    let (open, wait) = gate();
    let one = NonZeroUsize::MIN;
    let mut session = Setup::new()
        .tool(wait)
        .engine_limits(EngineLimits::default().with_running_blocks(one))
        .start()
        .await;
    let short = TurnLimits::default().with_block_time(Duration::from_millis(400));
    let mut second = session.engine.turn_with(short);
    let first = session.outcome("from tools import wait\nwait()");
    let behind = async {
        // Begins only when the first is under way, and then has to wait for longer than it may run.
        sleep(Duration::from_millis(300)).await;
        let mut execution = second.execute("print('ran')");
        let queued = execution.next_event().await;
        let longer = async {
            sleep(Duration::from_millis(700)).await;
            open.send_replace(true);
        };
        let (outcome, ()) = tokio::join!(execution.outcome(), longer);
        (queued, outcome)
    };
    let (first, (queued, second)) = tokio::join!(first, behind);
    assert!(
        matches!(queued, Some(Event::BlockQueued { .. })),
        "{queued:?}"
    );
    assert_eq!(first.ending, Ending::Completed { exit_code: 0 });
    assert_eq!(second.ending, Ending::Completed { exit_code: 0 });
    assert_eq!(second.stdout.text, "ran\n");
    assert!(
        second.took < Duration::from_millis(400),
        "{:?}",
        second.took
    );
}

#[tokio::test]
async fn a_block_for_which_there_is_no_room_is_refused_and_told_that_it_has_not_run() {
    let (open, wait) = gate();
    let limits = EngineLimits::default()
        .with_running_blocks(NonZeroUsize::MIN)
        .with_waiting_blocks(0);
    let mut session = Setup::new().tool(wait).engine_limits(limits).start().await;
    let mut second = session.engine.turn();
    let first = session.outcome("from tools import wait\nwait()");
    let behind = async {
        sleep(Duration::from_millis(300)).await;
        let outcome = second.execute("print('ran')").await;
        open.send_replace(true);
        outcome
    };
    let (first, refused) = tokio::join!(first, behind);
    assert_eq!(first.ending, Ending::Completed { exit_code: 0 });
    let message = "the host is busy: as many blocks as may are running (1) and waiting (0). The code has not run; it \
                   can be tried again later";
    assert_eq!(
        refused.ending,
        Ending::HostError {
            message: message.into()
        }
    );
    assert_eq!(refused.stdout.text, "");
    assert!(second.execute("pass").await.is_success());
}

#[tokio::test]
async fn one_sandbox_too_many_is_refused_until_another_turn_has_ended() {
    let limits = EngineLimits::default().with_sandboxes(1);
    let mut session = Setup::new().engine_limits(limits).start().await;
    assert_eq!(session.prints("print(1)").await, "1\n");
    let mut second = session.engine.turn();
    let refused = second.execute("print(2)").await;
    let Ending::HostError { message } = refused.ending else {
        panic!("{:?}", refused.ending);
    };
    assert_eq!(
        message,
        "the host is busy: as many sandboxes as may are held (1): turns that are not needed any more should be \
         ended"
    );
    let Session { turn, .. } = session;
    turn.close().await;
    assert_eq!(second.execute("print(2)").await.stdout.text, "2\n");
}

#[tokio::test]
async fn an_idle_turn_loses_its_sandbox_and_its_next_block_is_told() {
    let idle = Duration::from_millis(200);
    let limits = EngineLimits::default().with_idle_time(Some(idle));
    let mut session = Setup::new().engine_limits(limits).start().await;
    assert_eq!(session.prints("x = 1\nprint(x)").await, "1\n");
    // In use, it is not idle.
    let busy = session
        .prints("import time\ntime.sleep(0.5)\nprint(x)")
        .await;
    assert_eq!(busy, "1\n");
    sleep(idle * 5).await;
    let outcome = session.outcome("print('x' in globals())").await;
    assert_eq!(outcome.stdout.text, "False\n");
    assert_eq!(outcome.reset, Some(LossCause::Idle(idle)));
    assert_eq!(outcome.state, BlockState::Kept);
    assert_eq!(
        outcome.message().as_deref(),
        Some(
            "Before this code ran, the sandbox of the earlier blocks was lost: it was not used for 0.2 s. It ran in \
             a new sandbox, without their variables and files."
        )
    );
    // It is told once.
    assert_eq!(session.outcome("pass").await.reset, None);
}

#[tokio::test]
async fn input_files_that_an_idle_turn_has_lost_are_missed_loudly() {
    let idle = Duration::from_millis(100);
    let limits = EngineLimits::default().with_idle_time(Some(idle));
    let mut session = Setup::new().engine_limits(limits).start().await;
    session
        .turn
        .put_file("in.txt", b"1".to_vec())
        .await
        .expect("put");
    sleep(idle * 8).await;
    let outcome = session.outcome("print(open('in.txt').read())").await;
    let message = "the files that were put into the sandbox are lost: it was not used for 0.1 s";
    assert_eq!(
        outcome.ending,
        Ending::HostError {
            message: message.into()
        }
    );
    assert_eq!(outcome.stdout.text, "");
}
