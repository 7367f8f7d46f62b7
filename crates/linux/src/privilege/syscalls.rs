//! The system calls that a program denies itself (seccomp(2)).
//!
//! The list contains the denied calls. A list of allowed calls would depend on the version of the C
//! library and of each dependency, and a call missing from that list would fail in the field.

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
pub(super) use filter::restrict;

/// Makes no restriction: the filter's compiler does not support this processor.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pub(super) fn restrict(_executes: bool) -> std::io::Result<Option<String>> {
    Ok(Some(format!(
        "the sandbox does not limit system calls on this processor ({})",
        std::env::consts::ARCH
    )))
}

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod filter {
    use std::collections::BTreeMap;
    use std::io;

    use libc::c_long;
    use seccompiler::{
        BpfProgram, Error, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition,
        SeccompFilter, SeccompRule, TargetArch, apply_filter_all_threads,
    };

    const EXECUTE: &[c_long] = &[libc::SYS_execve, libc::SYS_execveat];

    /// Calls that no part of the program makes after it has started.
    const NEVER: &[c_long] = &[
        // Other processes.
        libc::SYS_ptrace,
        libc::SYS_process_vm_readv,
        libc::SYS_process_vm_writev,
        libc::SYS_process_madvise,
        libc::SYS_pidfd_getfd,
        libc::SYS_kcmp,
        // Users and capabilities.
        libc::SYS_setuid,
        libc::SYS_setgid,
        libc::SYS_setreuid,
        libc::SYS_setregid,
        libc::SYS_setresuid,
        libc::SYS_setresgid,
        libc::SYS_setfsuid,
        libc::SYS_setfsgid,
        libc::SYS_setgroups,
        libc::SYS_capset,
        // Mounts and namespaces.
        libc::SYS_mount,
        libc::SYS_umount2,
        libc::SYS_pivot_root,
        libc::SYS_chroot,
        libc::SYS_open_tree,
        libc::SYS_move_mount,
        libc::SYS_fsopen,
        libc::SYS_fsconfig,
        libc::SYS_fsmount,
        libc::SYS_fspick,
        libc::SYS_mount_setattr,
        libc::SYS_unshare,
        libc::SYS_setns,
        // Calls that change the running kernel.
        libc::SYS_kexec_load,
        libc::SYS_kexec_file_load,
        libc::SYS_init_module,
        libc::SYS_finit_module,
        libc::SYS_delete_module,
        libc::SYS_bpf,
        libc::SYS_perf_event_open,
        libc::SYS_userfaultfd,
        libc::SYS_io_uring_setup,
        libc::SYS_io_uring_enter,
        libc::SYS_io_uring_register,
        libc::SYS_add_key,
        libc::SYS_request_key,
        libc::SYS_keyctl,
        libc::SYS_syslog,
        // Calls that change settings of the whole computer.
        libc::SYS_reboot,
        libc::SYS_swapon,
        libc::SYS_swapoff,
        libc::SYS_acct,
        libc::SYS_quotactl,
        libc::SYS_settimeofday,
        libc::SYS_clock_settime,
        libc::SYS_clock_adjtime,
        libc::SYS_adjtimex,
        libc::SYS_sethostname,
        libc::SYS_setdomainname,
        libc::SYS_vhangup,
        libc::SYS_personality,
        // Calls that open files without their paths.
        libc::SYS_name_to_handle_at,
        libc::SYS_open_by_handle_at,
        #[cfg(target_arch = "x86_64")]
        libc::SYS_iopl,
        #[cfg(target_arch = "x86_64")]
        libc::SYS_ioperm,
        #[cfg(target_arch = "x86_64")]
        libc::SYS_modify_ldt,
    ];

    /// Flags of clone(2) that make a namespace.
    const NAMESPACES: [libc::c_int; 7] = [
        libc::CLONE_NEWNS,
        libc::CLONE_NEWCGROUP,
        libc::CLONE_NEWUTS,
        libc::CLONE_NEWIPC,
        libc::CLONE_NEWUSER,
        libc::CLONE_NEWPID,
        libc::CLONE_NEWNET,
    ];

    /// Denies the calls to all threads of this process.
    pub(in super::super) fn restrict(executes: bool) -> io::Result<Option<String>> {
        let programs = programs(executes).map_err(io::Error::other)?;
        for program in &programs {
            match apply_filter_all_threads(program) {
                Ok(()) => {}
                Err(Error::Seccomp(error)) if is_missing(&error) => {
                    let line = "this kernel has no seccomp filters, so the sandbox does not limit system calls";
                    return Ok(Some(line.to_owned()));
                }
                Err(error) => return Err(io::Error::other(error)),
            }
        }
        Ok(None)
    }

    fn is_missing(error: &io::Error) -> bool {
        matches!(error.raw_os_error(), Some(libc::ENOSYS | libc::EINVAL))
    }

    /// Returns the filters: one for each error number that denied calls return, because a filter
    /// has a single error number; and one for the x32 ABI.
    fn programs(executes: bool) -> Result<Vec<BpfProgram>, seccompiler::BackendError> {
        let more = if executes { &[][..] } else { EXECUTE };
        let mut denied: BTreeMap<i64, Vec<SeccompRule>> = NEVER
            .iter()
            .chain(more)
            .map(|number| (*number, Vec::new()))
            .collect();
        let of_a_flag = |flag: libc::c_int| {
            let flag = u64::from(flag as u32);
            let has = SeccompCmpOp::MaskedEq(flag);
            let condition = SeccompCondition::new(0, SeccompCmpArgLen::Qword, has, flag)?;
            SeccompRule::new(vec![condition])
        };
        let flags: Result<_, _> = NAMESPACES.into_iter().map(of_a_flag).collect();
        denied.insert(libc::SYS_clone, flags?);
        // The flags of clone3(2) are in memory, where no filter sees them. Without clone3(2), the
        // C library uses clone(2).
        let absent = BTreeMap::from([(libc::SYS_clone3, Vec::new())]);
        let mut programs = Vec::new();
        #[cfg(target_arch = "x86_64")]
        programs.push(other_numbers());
        for (rules, errno) in [(absent, libc::ENOSYS), (denied, libc::EPERM)] {
            programs.push(
                SeccompFilter::new(
                    rules,
                    SeccompAction::Allow,
                    SeccompAction::Errno(errno as u32),
                    this_processor(),
                )?
                .try_into()?,
            );
        }
        Ok(programs)
    }

    fn this_processor() -> TargetArch {
        #[cfg(target_arch = "x86_64")]
        return TargetArch::x86_64;
        #[cfg(target_arch = "aarch64")]
        return TargetArch::aarch64;
    }

    /// Denies the numbers of the x32 ABI, with which a program could also make the listed calls.
    #[cfg(target_arch = "x86_64")]
    fn other_numbers() -> BpfProgram {
        use seccompiler::sock_filter;
        const X32: u32 = 0x4000_0000;
        let step = |code: u32, jt, jf, k| sock_filter {
            code: code as u16,
            jt,
            jf,
            k,
        };
        vec![
            // The number is the first word of struct seccomp_data.
            step(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, 0),
            step(libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K, 0, 1, X32),
            step(
                libc::BPF_RET | libc::BPF_K,
                0,
                0,
                libc::SECCOMP_RET_ERRNO | libc::EPERM as u32,
            ),
            step(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ALLOW),
        ]
    }
}
