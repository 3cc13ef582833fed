//! Rows: an attack, what it comes to, and what it comes to without its protection.

use super::{Session, Setup, session::LEGITIMATE};

/// One way to do harm. Python, that prints one fact a line.
#[derive(Clone, Debug)]
pub(crate) struct Attack {
    pub(crate) code: String,
    /// What another session of the same zygote does next, while the first is still there.
    pub(crate) then: Option<String>,
}

impl Attack {
    pub(crate) fn new(code: impl Into<String>) -> Self {
        Self {
            code: code.into(),
            then: None,
        }
    }

    pub(crate) fn then(mut self, code: impl Into<String>) -> Self {
        self.then = Some(code.into());
        self
    }

    /// What it prints.
    async fn run(&self, session: &mut Session) -> Vec<String> {
        let mut lines = session.attack(&self.code).await;
        if let Some(then) = &self.then {
            let mut another = session.another();
            lines.extend(another.attack(then).await);
            another.turn.close().await;
        }
        lines
    }
}

/// Shows that the sealed sandbox contains an attack, and that what programs do for good reasons works beside it.
pub(crate) async fn contained(setup: Setup, attack: &Attack, expected: &[&str]) {
    let mut session = setup.start().await;
    let lines = attack.run(&mut session).await;
    assert!(fit(&lines, expected), "{}", told(attack, &lines, expected));
    assert_eq!(session.attack(LEGITIMATE).await, ["it works"]);
    session.close().await;
}

/// Whether these lines were expected. `|` stands between several ends of a line, where kernels or the user that the
/// host runs as make a difference; `*` stands for any.
fn fit(lines: &[String], expected: &[&str]) -> bool {
    let fits =
        |(line, ends): (&String, &&str)| *ends == "*" || ends.split('|').any(|end| end == line);
    lines.len() == expected.len() && lines.iter().zip(expected).all(fits)
}

fn told(attack: &Attack, lines: &[String], expected: &[&str]) -> String {
    let code = &attack.code;
    format!("{code}\n--- printed\n{lines:#?}\n--- expected\n{expected:#?}")
}

/// Shows that the attack comes to something else in the sandbox of `setup`, which lacks what contains it.
#[cfg(feature = "weaken")]
pub(crate) async fn noticed(setup: Setup, attack: &Attack, expected: &[&str], open: &[&str]) {
    let mut session = setup.start().await;
    let lines = attack.run(&mut session).await;
    session.close().await;
    assert!(fit(&lines, open), "{}", told(attack, &lines, open));
    assert!(!fit(&lines, expected), "contained all the same: {lines:?}");
}

/// Makes two tests of a row: `contained`, and `noticed`, which needs the feature `weaken`.
///
/// `without`, `calls`, `shown` and `guest` are the fields of [`Weaken`](codehatch_local::Weaken): all that has to
/// go before the attack comes to `open`. `then` is run in another session of the same zygote, `limits` replaces
/// those of the turn.
macro_rules! threat {
    ($(#[$attribute:meta])* $name:ident {
        attack: $attack:expr,
        $(limits: $limits:expr,)?
        $(then: $then:expr,)?
        contained: $contained:expr,
        $(without: [$($protection:ident),* $(,)?],)?
        $(calls: $calls:expr,)?
        $(shown: $shown:expr,)?
        $(guest: $guest:expr,)?
        open: $open:expr $(,)?
    }) => {
        $(#[$attribute])*
        mod $name {
            use crate::support::{Attack, Setup, block_on};

            fn attack() -> Attack {
                Attack::new($attack)$(.then($then))?
            }

            #[test]
            fn contained() {
                block_on(crate::support::contained(Setup::sealed()$(.limits($limits))?, &attack(), &$contained));
            }

            #[cfg(feature = "weaken")]
            #[test]
            fn noticed() {
                let weaken = codehatch_local::Weaken {
                    $(protections: vec![$(codehatch_local::Protection::$protection),*],)?
                    $(calls: $calls.to_vec(),)?
                    $(shown: $shown.map(std::path::PathBuf::from).to_vec(),)?
                    $(guest: $guest.to_vec(),)?
                    ..Default::default()
                };
                let setup = Setup::weakened(weaken)$(.limits($limits))?;
                block_on(crate::support::noticed(setup, &attack(), &$contained, &$open));
            }
        }
    };
}
