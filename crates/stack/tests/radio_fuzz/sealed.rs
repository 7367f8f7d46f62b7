//! Link-layer security in every fifth mesh, where the feature is built.

#[cfg(feature = "security")]
mod secured {
    use redpoll_mac::security::{Key, SecurityConfig, SecurityLevel, SecurityMemory, SoftwareAes};

    use crate::common::{HeapMemory, TestNode};

    pub fn is_sealed(seed: u64) -> bool {
        seed % 5 == 4
    }

    pub fn seal(node: &mut TestNode) {
        let config = SecurityConfig::new(
            SecurityLevel::EncMic32,
            Key::new(1, [0x42; 16]),
            &SoftwareAes,
            node.eui64(),
        )
        .with(|it| it.eui64_prefix = Some([2, 0, 0, 0, 0, 0]));
        let memory = SecurityMemory::<HeapMemory> {
            replay: vec![None; 4].into(),
            names: Box::default(),
        };
        node.secure(config, memory);
        store(node);
    }

    pub fn store(node: &mut TestNode) {
        if let Some(security) = node.security_mut()
            && let Some(counter) = security.poll_counter()
        {
            security.on_counter_stored(counter);
        }
    }
}

#[cfg(not(feature = "security"))]
mod secured {
    use crate::common::TestNode;

    pub fn is_sealed(_: u64) -> bool {
        false
    }

    pub fn seal(_: &mut TestNode) {}

    pub fn store(_: &mut TestNode) {}
}

pub use secured::{is_sealed, seal, store};
