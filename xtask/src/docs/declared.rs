//! The declarations of measured blocks: the files of `docs/measured/`.
//!
//! A block is a table, or one number in a sentence. Blocks, rows and columns state the run. If
//! several of them state a value, a column's value is used before a row's, and a row's before a
//! block's; overrides of keys are combined. `[measures]` has formulas by name, and `[columns]` has
//! columns that several tables share.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;

use super::expression::Measures;
use super::runs::Run;
use super::template::Template;
use crate::report::Failure;

#[derive(Default)]
pub struct Declared {
    pub measures: Measures,
    pub blocks: BTreeMap<String, Block>,
    columns: BTreeMap<String, Vec<SideText>>,
}

/// A table, or a number in a sentence.
#[derive(Debug)]
pub struct Block {
    /// Whether the block is a number, or some words with numbers, in a sentence.
    pub inline: bool,
    pub head: Vec<String>,
    pub rows: Vec<Row>,
    pub check: Check,
    /// Whether the page names the command in its own text, once for all of its blocks.
    without_caption: bool,
    seeds: Vec<u64>,
}

#[derive(Debug)]
pub struct Row {
    pub head: Vec<String>,
    pub cells: Vec<Cell>,
}

#[derive(Debug)]
pub struct Cell {
    pub template: Template,
    /// An entry for each seed; empty if the text of the cell has no number.
    pub runs: Vec<Compared>,
}

/// A run, and the run with which it is compared.
#[derive(Debug)]
pub struct Compared {
    pub run: Run,
    pub base: Option<Run>,
}

/// The part of a block that the short check measures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Check {
    All,
    #[default]
    First,
    /// No cell of the block: even one takes too long.
    None,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct BlockText {
    /// The text above the heads of the rows.
    corner: Words,
    columns: Columns,
    rows: Vec<SideText>,
    check: Check,
    /// Leaves the command out, because the page names it once for all of its blocks.
    without_caption: bool,
    /// Text of the sentence, in a block without rows.
    value: Option<String>,
    scenario: Option<String>,
    set: Vec<String>,
    duration: Option<String>,
    seeds: Option<Seeds>,
    cell: Option<String>,
    base: Option<BaseText>,
    command: Option<Vec<String>>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct SideText {
    head: Words,
    /// Cells of a row that is not measured.
    cells: Vec<String>,
    scenario: Option<String>,
    set: Vec<String>,
    duration: Option<String>,
    seeds: Option<Seeds>,
    cell: Option<String>,
    base: Option<BaseText>,
    command: Option<Vec<String>>,
}

/// Another run for comparison: equal to this one, except for the given keys.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct BaseText {
    scenario: Option<String>,
    set: Vec<String>,
    duration: Option<String>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
enum Columns {
    Named(String),
    Own(Vec<SideText>),
}

impl Default for Columns {
    fn default() -> Self {
        Columns::Own(Vec::new())
    }
}

#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
enum Words {
    One(String),
    Several(Vec<String>),
}

impl Default for Words {
    fn default() -> Self {
        Words::Several(Vec::new())
    }
}

impl Words {
    fn list(&self) -> Vec<String> {
        match self {
            Words::One(word) => vec![word.clone()],
            Words::Several(words) => words.clone(),
        }
    }
}

/// The seeds of a run: their number, counted from seed 1 on, or a list.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
enum Seeds {
    Up(u64),
    List(Vec<u64>),
}

#[derive(Clone, Debug, Default)]
struct What {
    scenario: Option<String>,
    set: Vec<String>,
    duration: Option<String>,
    seeds: Option<Seeds>,
    cell: Option<String>,
    base: Option<BaseText>,
    command: Option<Vec<String>>,
}

impl Declared {
    pub fn read(folder: &Path) -> Result<Declared, Failure> {
        let unreadable = |e| Failure::new(format!("cannot read {}: {e}", folder.display()));
        let mut paths = Vec::new();
        for entry in std::fs::read_dir(folder).map_err(unreadable)? {
            let path = entry.map_err(unreadable)?.path();
            if path
                .extension()
                .is_some_and(|extension| extension == "toml")
            {
                paths.push(path);
            }
        }
        paths.sort();
        let mut declared = Declared::default();
        let mut blocks = Vec::new();
        for path in paths {
            let wrong = |what: String| Failure::new(format!("{}: {what}", path.display()));
            let text = std::fs::read_to_string(&path).map_err(|e| wrong(e.to_string()))?;
            let more = declared.shared(&text).map_err(wrong)?;
            blocks.extend(
                more.into_iter()
                    .map(|(name, value)| (path.clone(), name, value)),
            );
        }
        for (path, name, value) in blocks {
            let added = declared.add(&name, value);
            added.map_err(|what| Failure::new(format!("{}: {name}: {what}", path.display())))?;
        }
        Ok(declared)
    }

    /// Reads the shared values of blocks from a file, and returns the blocks.
    fn shared(&mut self, text: &str) -> Result<toml::Table, String> {
        let mut table: toml::Table = toml::from_str(text).map_err(|e| e.to_string())?;
        if let Some(value) = table.remove("measures") {
            let more: Measures = value.try_into().map_err(|e| format!("measures: {e}"))?;
            self.measures.extend(more);
        }
        if let Some(value) = table.remove("columns") {
            let more: BTreeMap<_, _> = value.try_into().map_err(|e| format!("columns: {e}"))?;
            self.columns.extend(more);
        }
        Ok(table)
    }

    fn add(&mut self, name: &str, value: toml::Value) -> Result<(), String> {
        let block: BlockText = value
            .try_into()
            .map_err(|e: toml::de::Error| e.to_string().trim_end().to_owned())?;
        let columns = match &block.columns {
            Columns::Own(columns) => columns,
            Columns::Named(name) => {
                let known = self.columns.get(name);
                known.ok_or_else(|| format!("there are no columns `{name}`"))?
            }
        };
        let block = block.resolve(columns)?;
        match self.blocks.insert(name.to_owned(), block) {
            None => Ok(()),
            Some(_) => Err("there are two blocks of this name".to_owned()),
        }
    }
}

impl BlockText {
    fn resolve(&self, columns: &[SideText]) -> Result<Block, String> {
        let own = What {
            scenario: self.scenario.clone(),
            set: self.set.clone(),
            duration: self.duration.clone(),
            seeds: self.seeds.clone(),
            cell: self.cell.clone().or(self.value.clone()),
            base: self.base.clone(),
            command: self.command.clone(),
        };
        let mut head = self.corner.list();
        let rows = if self.value.is_some() {
            vec![Row {
                head: Vec::new(),
                cells: vec![own.cell()?],
            }]
        } else {
            for column in columns {
                head.extend(column.head.list());
            }
            let rows = self.rows.iter().map(|row| self.row(&own, row, columns));
            rows.collect::<Result<_, _>>()?
        };
        if rows.is_empty() {
            return Err("a block must have `rows` and `columns`, or a `value`".to_owned());
        }
        let seeds = rows.iter().flat_map(|row| &row.cells).next();
        Ok(Block {
            inline: self.value.is_some(),
            head,
            check: self.check,
            without_caption: self.without_caption,
            seeds: seeds.map_or(Vec::new(), |_| own.seeds()),
            rows,
        })
    }

    fn row(&self, own: &What, row: &SideText, columns: &[SideText]) -> Result<Row, String> {
        let head = row.head.list();
        let wrong = |what: String| format!("row \"{}\": {what}", head.join(", "));
        if head.len() != self.corner.list().len() {
            return Err(wrong(
                "the row's `head` and the block's `corner` have different numbers of texts"
                    .to_owned(),
            ));
        }
        let cells = if row.cells.is_empty() {
            let with_row = own.with(row);
            let cells = columns.iter().map(|column| with_row.with(column).cell());
            cells.collect::<Result<_, _>>().map_err(wrong)?
        } else if row.cells.len() == columns.len() {
            row.cells.iter().map(|text| Cell::fixed(text)).collect()
        } else {
            return Err(wrong(
                "the number of cells differs from the number of columns".to_owned(),
            ));
        };
        Ok(Row { head, cells })
    }
}

impl What {
    fn with(&self, side: &SideText) -> What {
        What {
            scenario: side.scenario.clone().or(self.scenario.clone()),
            set: [&self.set[..], &side.set].concat(),
            duration: side.duration.clone().or(self.duration.clone()),
            seeds: side.seeds.clone().or(self.seeds.clone()),
            cell: side.cell.clone().or(self.cell.clone()),
            base: side.base.clone().or(self.base.clone()),
            command: side.command.clone().or(self.command.clone()),
        }
    }

    fn seeds(&self) -> Vec<u64> {
        match &self.seeds {
            None => vec![1],
            Some(Seeds::Up(last)) => (1..=*last).collect(),
            Some(Seeds::List(list)) => list.clone(),
        }
    }

    fn cell(&self) -> Result<Cell, String> {
        let text = self
            .cell
            .as_ref()
            .ok_or("`cell` is missing: it must state what the cells show")?;
        let template = Template::parse(text)?;
        if !template.is_measured() {
            return Ok(Cell::fixed(text));
        }
        if let Some(command) = &self.command {
            let run = Run::command(command.clone());
            let base = None;
            return Ok(Cell {
                template,
                runs: vec![Compared { run, base }],
            });
        }
        let runs = self.seeds().into_iter().map(|seed| {
            let base = self.base.as_ref().map(|base| self.but_for(base).run(seed));
            Ok(Compared {
                run: self.run(seed)?,
                base: base.transpose()?,
            })
        });
        Ok(Cell {
            template,
            runs: runs.collect::<Result<_, String>>()?,
        })
    }

    fn but_for(&self, base: &BaseText) -> What {
        What {
            scenario: base.scenario.clone().or(self.scenario.clone()),
            set: [&self.set[..], &base.set].concat(),
            duration: base.duration.clone().or(self.duration.clone()),
            ..self.clone()
        }
    }

    fn run(&self, seed: u64) -> Result<Run, String> {
        let scenario = self.scenario.as_ref().ok_or("there is no `scenario`")?;
        Run::scenario(scenario, &self.set, self.duration.as_deref(), seed)
    }
}

impl Cell {
    fn fixed(text: &str) -> Cell {
        Cell {
            template: Template::fixed(text),
            runs: Vec::new(),
        }
    }
}

impl Block {
    /// Returns the line below a table, with its command; `None` with `without_caption`.
    pub fn caption(&self, name: &str) -> Option<String> {
        if self.without_caption {
            return None;
        }
        let cells = self.rows.iter().flat_map(|row| &row.cells);
        let first = cells.flat_map(|cell| &cell.runs).next();
        let seeds = match self.seeds.as_slice() {
            [] | [_] => String::new(),
            [first, second] => format!(", mean of seeds {first} and {second}"),
            [first, .., last] => format!(", mean of seeds {first} to {last}"),
        };
        let first = first.map_or(String::new(), |compared| {
            format!("; its first run is `{}`", compared.run)
        });
        Some(format!(
            "`cargo xtask docs --only {name}` prints this{seeds}{first}."
        ))
    }

    /// Returns the compared cells, by row and column.
    pub fn chosen(&self, short: bool) -> Vec<(usize, usize)> {
        let all = self.rows.iter().enumerate().flat_map(|(i, row)| {
            let cells = row.cells.iter().enumerate();
            let measured = cells.filter(|(_, cell)| !cell.runs.is_empty());
            measured.map(move |(j, _)| (i, j))
        });
        match (short, self.check) {
            (false, _) | (true, Check::All) => all.collect(),
            (true, Check::First) => all.take(1).collect(),
            (true, Check::None) => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn declared(text: &str) -> Result<Declared, String> {
        let mut declared = Declared::default();
        for (name, value) in declared.shared(text)? {
            let wrong = |what| format!("{name}: {what}");
            declared.add(&name, value).map_err(wrong)?;
        }
        Ok(declared)
    }

    #[test]
    fn blocks_rows_and_columns_determine_the_runs() {
        let text = r#"
            [measures]
            goodput = "flows.0.goodput_kbps"
            [columns]
            hops = [
                { head = "1 hop", scenario = "line-1" },
                { head = "2 hops", scenario = "line-2", set = ["b=3"] },
            ]
            [windows]
            seeds = 2
            duration = "60 s"
            corner = "window"
            cell = "{goodput:.1}"
            set = ["a=1", "b=1"]
            columns = "hops"
            rows = [
                { head = "small", set = ["b=2"] },
                { head = "a paper's", cells = ["7", "8"] },
            ]
            [plain]
            scenario = "line-1"
            without_caption = true
            columns = [{ head = "kb/s" }]
            cell = "{goodput:.1}"
            rows = [{}]
            [ratio]
            scenario = "line-1"
            value = "{goodput / base.goodput:.2}"
            base = { set = ["a=0"] }
        "#;
        let declared = declared(text).unwrap();
        let windows = &declared.blocks["windows"];
        assert_eq!(windows.head, ["window", "1 hop", "2 hops"]);
        let first = &windows.rows[0].cells[0].runs;
        assert_eq!(first.len(), 2);
        assert_eq!(
            first[1].run.to_string(),
            "redpoll run line-1 --set a=1 --set b=2 --duration \"60 s\" --seed 2"
        );
        let second = windows.rows[0].cells[1].runs[0].run.to_string();
        assert!(second.contains("line-2 --set a=1 --set b=3"), "{second}");
        assert_eq!(windows.chosen(false), [(0, 0), (0, 1)]);
        assert_eq!(windows.chosen(true), [(0, 0)]);
        let caption = windows.caption("windows").unwrap();
        assert!(caption.contains("seeds 1 and 2; its first run is `redpoll"));
        assert_eq!(declared.blocks["plain"].caption("plain"), None);
        let ratio = &declared.blocks["ratio"];
        assert!(ratio.inline);
        let base = ratio.rows[0].cells[0].runs[0].base.as_ref().unwrap();
        assert_eq!(base.to_string(), "redpoll run line-1 --set a=0 --seed 1");
    }

    #[test]
    fn invalid_declarations_are_named() {
        let error = |text: &str| declared(text).map(|_| ()).unwrap_err();
        assert!(error("[x]\nscenario = \"a\"\n").contains("x: a block must have"));
        assert!(error("[x]\nvalue = \"{a:.1}\"\n").contains("x: there is no `scenario`"));
        assert!(error("[x]\ncolumns = \"y\"\nrows = []\n").contains("no columns `y`"));
        assert!(error("[x]\nscene = \"a\"\n").contains("scene"));
        let uneven = "[x]\ncorner = \"a\"\ncolumns = [{ head = \"b\" }]\n";
        assert!(
            error(&format!("{uneven}rows = [{{ head = [\"c\", \"d\"] }}]"))
                .contains("the row's `head` and the block's `corner` have different numbers")
        );
        assert!(
            error(&format!(
                "{uneven}rows = [{{ head = \"c\", cells = [\"1\", \"2\"] }}]"
            ))
            .contains("cells")
        );
        assert!(error("[x]\nscenario = \"a\"\nset = [\"b\"]\nvalue = \"{a:.1}\"").contains("`b`"));
    }
}
