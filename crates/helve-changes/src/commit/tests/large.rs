//! Many files, and a very large one.

use super::*;

/// A gigabyte of holes goes through capture, commit and undo in little memory.
#[test]
fn a_large_file_is_never_held() {
    let bench = Bench::new();
    let path = bench.real.join("big");
    fs::File::create(&path).unwrap().set_len(1 << 30).unwrap();
    fs::File::create(bench.at("upper/big"))
        .unwrap()
        .set_len((1 << 30) + 4096)
        .unwrap();
    let copied = Copied {
        real: bench.real.clone(),
        copy: bench.at("upper"),
    };
    let staged = capture_copy(&[copied], &bench.allowed(), &bench.blobs).unwrap();
    bench.commit(&staged).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().len(), (1 << 30) + 4096);
    let back = bench.undo(&[&staged.changeset], Later::Refuse).unwrap();
    bench.commit(&back.staged).unwrap();
    let meta = fs::metadata(&path).unwrap();
    assert_eq!(meta.len(), 1 << 30);
    assert!(meta.blocks() < 1000, "holes stay holes");
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let most = status
        .lines()
        .find_map(|l| l.strip_prefix("VmHWM:"))
        .unwrap();
    let kilobytes: u64 = most.trim().trim_end_matches(" kB").trim().parse().unwrap();
    assert!(kilobytes < 200_000, "{kilobytes} kB were held");
}

#[test]
fn twenty_thousand_files_are_one_commit() {
    let bench = Bench::in_memory();
    let copy = bench.at("upper");
    for folder in 0..100 {
        for root in [&bench.real, &copy] {
            fs::create_dir(root.join(folder.to_string())).unwrap();
        }
        for file in 0..200 {
            let name = format!("{folder}/{file}");
            fs::write(bench.real.join(&name), format!("{folder} {file}")).unwrap();
            fs::write(copy.join(&name), format!("{file} {folder}!")).unwrap();
        }
    }
    let copied = Copied {
        real: bench.real.clone(),
        copy,
    };
    let staged = capture_copy(&[copied], &bench.allowed(), &bench.blobs).unwrap();
    assert_eq!(staged.changeset.totals().changed, 20_000);
    bench.commit(&staged).unwrap();
    assert_eq!(fs::read(bench.real.join("99/199")).unwrap(), b"199 99!");
    let back = bench.undo(&[&staged.changeset], Later::Refuse).unwrap();
    bench.commit(&back.staged).unwrap();
    assert_eq!(fs::read(bench.real.join("99/199")).unwrap(), b"99 199");
}
