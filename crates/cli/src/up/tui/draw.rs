//! Draws the view on a screen.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style, Stylize as _};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Cell, Paragraph, Row, Table, TableState};

use super::view::{FlowLine, NodeLine, View};

/// Smallest width in columns at which the connections are drawn to the right of the nodes.
const WIDE: u16 = 156;
/// Width in columns of the table of nodes on a screen of at least [`WIDE`] columns.
const NODES: u16 = 74;

const KEYS: [(&str, &str); 6] = [
    ("↑↓", "choose"),
    ("x", "off/on"),
    ("l", "loss"),
    ("t", "transfer"),
    ("p", "pause view"),
    ("q", "end"),
];

pub(super) fn draw(frame: &mut Frame<'_>, view: &View) {
    let rows = [
        Constraint::Length(1),
        Constraint::Min(0),
        Constraint::Length(1),
    ];
    let [top, middle, bottom] = Layout::vertical(rows).areas(frame.area());
    frame.render_widget(title(view), top);
    frame.render_widget(keys(), bottom);
    let (left, right) = if middle.width >= WIDE {
        let columns = [Constraint::Length(NODES), Constraint::Min(0)];
        let [left, right] = Layout::horizontal(columns).areas(middle);
        (left, right)
    } else {
        let wanted = view.nodes.len() as u16 + 3;
        let nodes = wanted.min((middle.height / 2).max(4));
        let rows = [Constraint::Length(nodes), Constraint::Min(0)];
        let [above, below] = Layout::vertical(rows).areas(middle);
        (above, below)
    };
    nodes(frame, left, view);
    let wanted = (view.flows.len() as u16 + 3).clamp(5, (right.height / 2).max(5));
    let rows = [Constraint::Length(wanted), Constraint::Min(0)];
    let [above, below] = Layout::vertical(rows).areas(right);
    frame.render_widget(flows(view), above);
    frame.render_widget(log(view, below), below);
}

fn title(view: &View) -> Line<'_> {
    let s = view.at.as_millis() / 1_000;
    let time = format!("  {}:{:02}:{:02}", s / 3_600, s / 60 % 60, s % 60);
    let mut spans = vec![Span::from(view.title.as_str()).bold(), Span::from(time)];
    if view.is_paused {
        spans.push("  the view is paused, the mesh continues (p: resume the view)".reversed());
    }
    Line::from(spans)
}

fn keys() -> Line<'static> {
    let spans = KEYS
        .iter()
        .flat_map(|(key, what)| [Span::from(*key).bold(), Span::from(format!(" {what}  "))]);
    Line::from(spans.collect::<Vec<_>>())
}

fn head<const N: usize>(names: [&'static str; N]) -> Row<'static> {
    Row::new(names.map(Cell::from)).style(Style::new().add_modifier(Modifier::DIM))
}

fn nodes(frame: &mut Frame<'_>, area: Rect, view: &View) {
    let widths = [
        Constraint::Min(16),
        Constraint::Length(9),
        Constraint::Length(4),
        Constraint::Length(7),
        Constraint::Length(5),
        Constraint::Length(7),
        Constraint::Length(7),
        Constraint::Length(9),
    ];
    let rows = view.nodes.iter().map(node);
    let names = [
        "node", "parent", "hops", "radio", "queue", "sent", "retries", "collided",
    ];
    let table = Table::new(rows, widths)
        .header(head(names))
        .row_highlight_style(Style::new().add_modifier(Modifier::REVERSED))
        .block(Block::bordered().title("nodes"));
    let chosen = view.nodes.iter().position(|line| line.node == view.chosen);
    let mut state = TableState::default().with_selected(chosen);
    frame.render_stateful_widget(table, area, &mut state);
}

/// Formats a node as a row. Colours only repeat what the words state.
fn node(line: &NodeLine) -> Row<'_> {
    let deep = "  ".repeat(line.depth.min(8));
    let mut name = format!("{deep}{}", line.name);
    if line.is_off {
        name += " off";
    }
    if line.loss > 0.0 {
        name += &format!(" loss {:.0}%", 100.0 * line.loss);
    }
    let style = match (line.is_off, line.loss > 0.0) {
        (true, _) => Style::new().fg(Color::Red),
        (_, true) => Style::new().fg(Color::Yellow),
        _ => Style::new(),
    };
    let cells = [
        name,
        line.parent.clone().unwrap_or_else(|| "-".to_owned()),
        line.hops.map_or("-".to_owned(), |hops| hops.to_string()),
        format!("{:.1} %", line.duty_cycle),
        line.queued.to_string(),
        line.sent.to_string(),
        line.retries.to_string(),
        line.collisions.to_string(),
    ];
    Row::new(cells.map(Cell::from)).style(style)
}

fn flows(view: &View) -> Table<'_> {
    let widths = [
        Constraint::Min(26),
        Constraint::Length(9),
        Constraint::Length(5),
        Constraint::Length(7),
        Constraint::Length(7),
        Constraint::Length(5),
        Constraint::Length(11),
    ];
    let row = |line: &FlowLine| {
        let cells = [
            line.ends.clone(),
            format!("{:.1} kb/s", line.goodput_kbps),
            line.cwnd.to_string(),
            format!("{:.0} ms", line.rtt_ms),
            format!("{:.0} ms", line.rto_ms),
            line.retransmissions.to_string(),
            line.state.clone(),
        ];
        Row::new(cells.map(Cell::from))
    };
    let names = [
        "connection",
        "goodput",
        "cwnd",
        "RTT",
        "RTO",
        "retx",
        "state",
    ];
    Table::new(view.flows.iter().map(row), widths)
        .header(head(names))
        .block(Block::bordered().title("TCP connections"))
}

fn log(view: &View, area: Rect) -> Paragraph<'_> {
    let room = usize::from(area.height.saturating_sub(2));
    let skipped = view.log.len().saturating_sub(room);
    let lines = view
        .log
        .iter()
        .skip(skipped)
        .map(|line| Line::from(line.as_str()));
    Paragraph::new(lines.collect::<Vec<_>>()).block(Block::bordered().title("log"))
}
