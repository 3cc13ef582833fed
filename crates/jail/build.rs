//! Compiles the native part of the zygote into the extension module that is embedded in the library.
//!
//! It is compiled by `rustc` itself: a plain dependency cannot yield a shared object on stable Rust, and the
//! sources need nothing but `core`.

use std::{
    env,
    path::{Path, PathBuf},
    process::Command,
};

fn main() {
    let sources = Path::new("session/src");
    println!("cargo::rerun-if-changed={}", sources.display());
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let rustc = env::var_os("RUSTC").expect("cargo sets RUSTC");
    let target = env::var("TARGET").expect("cargo sets TARGET");
    let weaken: &[&str] = match env::var_os("CARGO_FEATURE_WEAKEN") {
        Some(_) => &["--cfg", r#"feature="weaken""#],
        None => &[],
    };
    let mut command = Command::new(rustc);
    command
        .args(["--edition", "2024", "--crate-name", "_codehatch_session"])
        .args([
            "--crate-type",
            "cdylib",
            "--cfg",
            "embedded",
            "--target",
            &target,
        ])
        // Fat LTO drops the unwinding tables of `core`, whose personality function nothing would provide.
        .args([
            "-C",
            "panic=abort",
            "-C",
            "lto=fat",
            "-C",
            "codegen-units=1",
        ])
        .args(["-C", "opt-level=s", "-C", "strip=symbols"])
        .args(weaken)
        // CPython and libc are there already in the process that loads it.
        .args(["-C", "link-arg=-nostdlib"])
        .arg("-o")
        .arg(out.join("_codehatch_session.so"))
        .arg(sources.join("lib.rs"));
    if let Some(linker) = env::var_os("RUSTC_LINKER") {
        command
            .arg("-C")
            .arg(format!("linker={}", Path::new(&linker).display()));
    }
    let status = command.status().expect("rustc starts");
    assert!(
        status.success(),
        "compiling the session module failed: {command:?}"
    );
}
