//! Network namespaces, all of them empty: each is used by one session after another.
//!
//! A new one costs more than most of the other isolation together, and its end keeps the kernel busy for longer
//! still. Nothing of a session stays in one: sessions have no right over it, it has no interface that is up, and
//! what sockets it had ended with their processes.

use crate::sys::{self, POLLIN, PollFd};

/// How many are kept. Further sessions at once get one that ends with them.
const MOST: usize = 64;

#[derive(Clone, Copy)]
struct Network {
    namespace: i32,
    /// The pidfd of the init of the session that was put into it last, or -1.
    session: i32,
}

/// Those that this process has made.
pub(crate) struct Networks {
    known: [Network; MOST],
    count: usize,
}

impl Networks {
    pub(crate) const fn new() -> Self {
        Self {
            known: [Network {
                namespace: -1,
                session: -1,
            }; MOST],
            count: 0,
        }
    }

    /// Puts this process into a network without a session: its slot. `None` if there is neither one nor room for
    /// another.
    pub(crate) fn enter_free(&mut self) -> Option<usize> {
        if let Some(slot) = self.free() {
            return sys::enter_network(self.known.get(slot)?.namespace)
                .is_ok()
                .then_some(slot);
        }
        let slot = self.count;
        let network = self.known.get_mut(slot)?;
        sys::new_network().ok()?;
        network.namespace = sys::open(c"/proc/self/ns/net", sys::O_RDONLY, 0).ok()?;
        self.count += 1;
        Some(slot)
    }

    fn free(&self) -> Option<usize> {
        let mut polled = [PollFd {
            fd: -1,
            events: POLLIN,
            revents: 0,
        }; MOST];
        let known = self.known.get(..self.count)?;
        for (polled, network) in polled.iter_mut().zip(known) {
            polled.fd = network.session;
        }
        sys::poll_now(polled.get_mut(..self.count)?).ok()?;
        // A pidfd is readable once its process and, since that is an init, all of its namespace are gone.
        polled
            .iter()
            .zip(known)
            .position(|(polled, network)| network.session == -1 || polled.revents != 0)
    }

    /// Notes who is in `slot` now; takes the pidfd over.
    pub(crate) fn occupy(&mut self, slot: usize, session: i32) {
        if let Some(network) = self.known.get_mut(slot) {
            if network.session >= 0 {
                sys::close(network.session);
            }
            network.session = session;
        }
    }

    /// Closes what a new session has inherited.
    pub(crate) fn close(&self) {
        for network in self.known.iter().take(self.count) {
            sys::close(network.namespace);
            if network.session >= 0 {
                sys::close(network.session);
            }
        }
    }
}
