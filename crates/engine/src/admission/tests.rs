use std::future::pending;

use codehatch_runtime::{BoxFuture, Environment, Sandbox, StartError, StartRequest};
use tokio::{
    sync::mpsc::{self, Receiver, Sender},
    task::{AbortHandle, JoinSet},
    time::sleep,
};

use super::*;

/// A machine with as much free memory as a test says.
#[derive(Debug)]
struct Machine(AtomicUsize);

impl SandboxRuntime for Machine {
    fn name(&self) -> &'static str {
        "machine"
    }

    fn environment(&self) -> BoxFuture<'_, Result<Arc<Environment>, StartError>> {
        Box::pin(pending())
    }

    fn start(&self, _: StartRequest) -> BoxFuture<'_, Result<Sandbox, StartError>> {
        Box::pin(pending())
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(pending())
    }

    fn free_memory(&self) -> Option<u64> {
        u64::try_from(self.0.load(Ordering::Acquire)).ok()
    }
}

const GIB: usize = 1024 * 1024 * 1024;

fn admission(running: usize, waiting: usize) -> (Arc<Admission>, Arc<Machine>) {
    let limits = EngineLimits::default()
        .with_running_blocks(NonZeroUsize::new(running).expect("not zero"))
        .with_waiting_blocks(waiting)
        .with_sandboxes(2);
    let machine = Arc::new(Machine(GIB.into()));
    let runtime: Arc<dyn SandboxRuntime> = Arc::<Machine>::clone(&machine);
    (Admission::new(limits, runtime), machine)
}

/// Blocks that say when they are let in, and run until they are told to end.
struct Blocks {
    admission: Arc<Admission>,
    entered: Sender<(&'static str, Result<Running, Refused>)>,
    order: Receiver<(&'static str, Result<Running, Refused>)>,
    tasks: JoinSet<()>,
}

impl Blocks {
    fn new(admission: &Arc<Admission>) -> Self {
        let (entered, order) = mpsc::channel(64);
        Self {
            admission: Arc::clone(admission),
            entered,
            order,
            tasks: JoinSet::new(),
        }
    }

    /// Lines a block up, and lets it come to its place in the line.
    async fn line_up(&mut self, name: &'static str, owner: &str) -> AbortHandle {
        let (admission, entered) = (Arc::clone(&self.admission), self.entered.clone());
        let owner = Owner::from(owner);
        let task = self.tasks.spawn(async move {
            let result = admission.enter(&owner, || {}).await;
            drop(entered.send((name, result)).await);
        });
        tokio::task::yield_now().await;
        task
    }

    async fn next(&mut self) -> (&'static str, Result<Running, Refused>) {
        self.order.recv().await.expect("the test holds a sender")
    }

    /// Ends each block as soon as it is let in: the order in which they were.
    async fn run(&mut self, count: usize) -> Vec<&'static str> {
        let mut names = Vec::new();
        for _ in 0..count {
            let (name, result) = self.next().await;
            names.push(name);
            drop(result.expect("let in"));
        }
        names
    }
}

#[tokio::test(start_paused = true)]
async fn owners_take_turns_however_many_blocks_one_has() {
    let (admission, _) = admission(1, 10);
    let mut blocks = Blocks::new(&admission);
    let owner = Owner::from("first");
    let running = admission.enter(&owner, || {}).await.expect("nothing runs");
    for (name, owner) in [
        ("a1", "a"),
        ("a2", "a"),
        ("a3", "a"),
        ("b1", "b"),
        ("c1", "c"),
    ] {
        blocks.line_up(name, owner).await;
    }
    drop(running);
    assert_eq!(blocks.run(5).await, ["a1", "b1", "c1", "a2", "a3"]);
}

#[tokio::test(start_paused = true)]
async fn no_more_run_than_may_and_a_full_line_refuses() {
    let (admission, _) = admission(2, 1);
    let mut blocks = Blocks::new(&admission);
    for name in ["one", "two", "three", "four"] {
        blocks.line_up(name, name).await;
    }
    let (first, one) = blocks.next().await;
    let (second, _two) = blocks.next().await;
    let (third, refused) = blocks.next().await;
    assert_eq!((first, second, third), ("one", "two", "four"));
    assert_eq!(
        refused.expect_err("the line is full"),
        Refused::Full {
            running: 2,
            waiting: 1
        }
    );
    assert!(blocks.order.try_recv().is_err(), "three must wait");
    drop(one);
    assert_eq!(blocks.next().await.0, "three");
}

#[tokio::test(start_paused = true)]
async fn who_waits_too_long_is_refused_and_leaves_no_gap() {
    let (admission, _) = admission(1, 10);
    let mut blocks = Blocks::new(&admission);
    let owner = Owner::from("long");
    let running = admission.enter(&owner, || {}).await.expect("nothing runs");
    blocks.line_up("late", "a").await;
    sleep(Duration::from_secs(30)).await;
    blocks.line_up("later", "a").await;
    let (name, refused) = blocks.next().await;
    let waited = Duration::from_mins(1);
    assert_eq!(name, "late");
    assert_eq!(
        refused.expect_err("its time is up"),
        Refused::Waited { waited }
    );
    drop(running);
    assert_eq!(blocks.run(1).await, ["later"]);
}

#[tokio::test(start_paused = true)]
async fn who_gives_up_is_passed_over() {
    let (admission, _) = admission(1, 2);
    let mut blocks = Blocks::new(&admission);
    let owner = Owner::from("first");
    let running = admission.enter(&owner, || {}).await.expect("nothing runs");
    let gone = blocks.line_up("gone", "a").await;
    blocks.line_up("stays", "a").await;
    gone.abort();
    while !gone.is_finished() {
        tokio::task::yield_now().await;
    }
    // The place in the line is free again.
    blocks.line_up("new", "b").await;
    drop(running);
    assert_eq!(blocks.run(2).await, ["stays", "new"]);
    assert_eq!(admission.line().running, 0);
}

#[tokio::test(start_paused = true)]
async fn little_memory_keeps_further_blocks_waiting_but_never_the_only_one() {
    let (admission, machine) = admission(8, 8);
    let mut blocks = Blocks::new(&admission);
    machine.0.store(GIB / 8, Ordering::Release);
    blocks.line_up("only", "a").await;
    let (name, only) = blocks.next().await;
    assert_eq!((name, only.is_ok()), ("only", true));
    blocks.line_up("second", "b").await;
    sleep(Duration::from_secs(1)).await;
    assert!(blocks.order.try_recv().is_err(), "it waits for memory");
    machine.0.store(GIB, Ordering::Release);
    let (name, second) = blocks.next().await;
    assert_eq!((name, second.is_ok()), ("second", true));
    machine.0.store(GIB / 8, Ordering::Release);
    blocks.line_up("third", "c").await;
    let (free, wanted) = (1 << 27, 1 << 28);
    let (_, refused) = blocks.next().await;
    assert_eq!(
        refused.expect_err("no memory for a minute"),
        Refused::Memory { free, wanted }
    );
}

#[test]
fn sandboxes_are_counted_as_long_as_they_are_held() {
    let (admission, _) = admission(1, 1);
    let first = admission.hold().expect("none is held");
    let _second = admission.hold().expect("one is held");
    let refused = admission.hold().expect_err("two are held");
    assert_eq!(refused, Refused::Sandboxes { limit: 2 });
    drop(first);
    assert!(admission.hold().is_ok());
}
