//! Every example in the help and in README runs.

mod support;

use std::path::Path;

use absentia::InstructionSet;
use support::Sandbox;

/// Lines that start with a prompt and the program's name.
fn examples(text: &str) -> Vec<String> {
    // A backslash at the end joins lines, as the shell does.
    let joined = text.replace("\\\n", " ");
    let prompted = joined
        .lines()
        .filter_map(|line| line.trim().strip_prefix("$ "));
    let own = prompted.filter(|line| line.starts_with("absentia ") || line.contains("| absentia "));
    own.map(str::to_owned).collect()
}

/// Commands between back-ticks, as tables have them.
fn inline(text: &str) -> Vec<String> {
    let tables = text.lines().filter(|line| line.starts_with('|'));
    let code = tables.flat_map(|line| line.split('`').skip(1).step_by(2));
    let own = code.filter(|code| code.starts_with("absentia ") && code.len() > 20);
    own.map(str::to_owned).collect()
}

fn help(sandbox: &Sandbox, words: &str) -> String {
    let mut command = sandbox.command(&format!("help {words}"));
    // As narrow as terminals are, so that examples are broken into lines.
    let output = command.env("COLUMNS", "80").output().expect("started");
    assert!(output.status.success());
    String::from_utf8(output.stdout).expect("UTF-8")
}

fn verbs(help: &str) -> Vec<String> {
    let commands = help.split("Commands:").nth(1).unwrap_or_default();
    let lines = commands
        .lines()
        .skip(1)
        .take_while(|line| line.starts_with("  "));
    // Descriptions go on in lines that are indented further.
    let first = lines.filter(|line| !line.starts_with("   "));
    let words = first.filter_map(|line| line.split_whitespace().next());
    words.map(str::to_owned).collect()
}

#[track_caller]
fn run_all(sandbox: &Sandbox, examples: &[String]) {
    for line in examples {
        // A server does not end by itself: it starts, learns its events, and stops.
        let is_server = line.starts_with("absentia serve ") && !line.contains("--new-key");
        let end = if is_server {
            " --check --address 127.0.0.1:0"
        } else {
            ""
        };
        let ran = sandbox.shell(&format!("{line}{end}"));
        assert_eq!(ran.code, 0, "$ {line}\n{}\n{}", ran.stdout, ran.stderr);
    }
}

#[test]
fn every_example_of_the_help_runs() {
    let sandbox = Sandbox::with_models();
    let overview = help(&sandbox, "");
    run_all(&sandbox, &examples(&overview));
    let verbs = verbs(&overview);
    assert!(verbs.len() >= 12, "{verbs:?}");
    for verb in verbs {
        let found = examples(&help(&sandbox, &verb));
        assert!(!found.is_empty(), "{verb} has no example");
        run_all(&Sandbox::with_models(), &found);
    }
}

#[test]
fn every_example_of_the_readme_runs() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md");
    let text = std::fs::read_to_string(path).expect("README.md");
    let mut found = examples(&text);
    found.extend(inline(&text));
    assert!(!found.is_empty());
    run_all(&Sandbox::with_models(), &found);
}

#[test]
fn every_example_of_the_pages_runs() {
    for page in [
        "index.md",
        "tutorial.md",
        "howto.md",
        "files.md",
        "commands.md",
        "serving.md",
    ] {
        let text = page_text(page);
        let found = shell_examples(&text);
        assert!(page == "index.md" || !found.is_empty(), "{page}");
        run_all(&Sandbox::new(), &found);
    }
}

/// Every page with commands is run by a test, here or where this says.
#[test]
fn no_page_is_left_out() {
    let elsewhere = [
        "index.md", // installing: `cargo xtask wheel` installs the wheel and follows the tutorial
        "cluster.md", // bindings/python/tests/test_examples.py, on Ray
        "python.md", // the same
    ];
    let here = [
        "tutorial.md",
        "howto.md",
        "files.md",
        "commands.md",
        "serving.md",
        "relations.md",
    ];
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    for page in std::fs::read_dir(folder).expect("a folder") {
        let name = page.expect("a page").file_name();
        let name = name.to_str().expect("text");
        let text = page_text(name);
        let has_commands = !indented(&text, "absentia ").is_empty()
            || ["```sh", "```console", "```python"]
                .iter()
                .any(|fence| text.contains(fence));
        let is_run = here.contains(&name) || elsewhere.contains(&name);
        assert!(
            !has_commands || is_run,
            "nothing runs the commands of {name}"
        );
    }
}

fn page_text(page: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    std::fs::read_to_string(folder.join(page)).expect("a page")
}

/// Commands in indented blocks.
fn indented(text: &str, start: &str) -> Vec<String> {
    let joined = text.replace("\\\n", " ");
    let lines = joined.lines().filter_map(|line| line.strip_prefix("    "));
    let own = lines.filter(|line| line.starts_with(start));
    own.map(str::to_owned).collect()
}

/// The programs in Python that indented blocks have.
fn python_programs(text: &str) -> Vec<String> {
    let mut programs = vec![String::new()];
    for line in text.lines() {
        match line.strip_prefix("    ") {
            Some(line) => programs.last_mut().expect("one").extend([line, "\n"]),
            None => programs.push(String::new()),
        }
    }
    programs.retain(|program| program.starts_with("import "));
    programs
}

/// The page on relations, on data of the form that it describes, with fewer factors and trials.
#[test]
fn the_commands_of_the_page_on_relations_run() {
    let sandbox = Sandbox::with_models();
    let rows =
        |count: usize, row: &dyn Fn(usize) -> String| -> String { (0..count).map(row).collect() };
    let likes = rows(600, &|at| {
        format!("{}\t{}\n", at % 40, at / 40 * 7 % 60 + at % 40 % 2 * 60)
    });
    sandbox.write("interactions.tsv", &format!("user\titem\n{likes}"));
    let tags = rows(480, &|at| {
        format!("{}\t{}\n", at % 120, at % 120 / 60 * 100 + at / 120)
    });
    sandbox.write("item_tags.tsv", &format!("item\ttag\n{tags}"));
    sandbox.shell("gzip interactions.tsv item_tags.tsv").ok();
    let ratings = sandbox.read("ratings.csv");
    sandbox.write("plays.csv", &ratings);
    sandbox.write(
        "friends.csv",
        "user,friend\nann,bob\nbob,user2\nuser3,ann\n",
    );
    let words = [
        "error",
        "directory",
        "socket",
        "bytes",
        "fatal",
        "tree",
        "inet",
        "size",
    ];
    let near = rows(56, &|at| {
        let (one, other) = (at % 8, (at % 8 + 1 + at / 8) % 8);
        format!("{},{},{}\n", words[one], words[other], 1 + at % 5)
    });
    sandbox.write("cooc.csv", &format!("word,context,count\n{near}"));
    std::fs::create_dir(sandbox.path("perl")).expect("a folder");
    let text = "alpha beta gamma delta ".repeat(30);
    sandbox.write("perl/a.pod", &format!("=head1 NAME\n{text}\n=cut\n"));

    let page = page_text("relations.md");
    let programs = python_programs(&page);
    assert_eq!(programs.len(), 2, "{programs:?}");
    let smaller = |line: &str| {
        line.replace("--factors 128", "--factors 8")
            .replace("-k 128", "-k 8")
            .replace("-k 64", "-k 4")
            .replace("--trials 24", "--trials 2")
            .replace("USER ITEM", "ann heat")
            .replace("k=64", "k=4")
            .replace("/usr/share/perl", "perl")
    };
    let python = std::env::var("ABSENTIA_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let has_scipy = sandbox.shell(&format!("{python} -c 'import scipy'")).code == 0;
    let commands = indented(&page, "absentia ");
    assert!(commands.len() >= 9, "{commands:?}");
    for (at, line) in commands.iter().enumerate() {
        let needs_vectors = line.contains("vectors.npy");
        if needs_vectors && !has_scipy {
            absentia_testing::skipped("no Python with scipy; set ABSENTIA_PYTHON");
            continue;
        }
        if needs_vectors {
            sandbox.write("vectors.py", &smaller(&programs[0]));
            sandbox.shell(&format!("{python} vectors.py")).ok();
        }
        // The model of the page is that of its first command when tags are explained.
        if line.contains("explain") {
            sandbox.shell(&smaller(&commands[0])).ok();
        }
        let ran = sandbox.shell(&smaller(line));
        assert_eq!(
            ran.code, 0,
            "{at}: $ {line}\n{}\n{}",
            ran.stdout, ran.stderr
        );
    }
    sandbox.write("words.py", &smaller(&programs[1]));
    let counted = sandbox.shell(&format!("{python} words.py")).ok().stdout;
    assert!(
        counted.starts_with("word,context,count\nalpha,beta,"),
        "{counted}"
    );
}

/// Every line after a prompt, whatever the program.
fn shell_examples(text: &str) -> Vec<String> {
    let lines = text.lines();
    lines
        .filter_map(|line| line.strip_prefix("$ ").map(str::to_owned))
        .collect()
}

#[test]
fn help_and_version_need_no_files() {
    let sandbox = Sandbox::new();
    assert!(
        sandbox
            .run("--version")
            .ok()
            .stdout
            .starts_with("absentia ")
    );
    sandbox.run("train").fails(2, &["--help"]);
}

#[test]
fn the_instruction_set_is_chosen_by_the_environment() {
    let sandbox = Sandbox::new();
    let version = |set: &str| {
        let output = sandbox
            .command("--version")
            .env("ABSENTIA_SIMD", set)
            .output();
        let output = output.expect("the program starts");
        let text = |bytes| String::from_utf8(bytes).expect("text");
        (
            output.status.code(),
            text(output.stdout),
            text(output.stderr),
        )
    };
    for set in InstructionSet::available() {
        let (code, out, _) = version(&set.to_string());
        assert_eq!(code, Some(0));
        assert!(out.trim_end().ends_with(&format!("({set})")), "{out}");
    }
    let (code, _, message) = version("mmx");
    assert_eq!(code, Some(2));
    assert!(
        message.contains("ABSENTIA_SIMD") && message.contains("scalar"),
        "{message}"
    );
}
