import ArgumentParser
import Utilities
import TrackerService

/// How a status bar reads a line.
enum StatusFormat: String, ExpressibleByArgument, CaseIterable {
    case text, json, waybar, i3blocks, polybar, tmux, plain

    /// One line, as that program wants it; `nil` for the two that are no bar's.
    func line(_ item: StatusItem) throws -> String? { try Self.lines[self]?(item) }

    private static let lines: [StatusFormat: @Sendable (StatusItem) throws -> String] = [
        .waybar: {
            try TrackerDesk.json(
                Waybar(text: $0.text, alt: $0.phase, tooltip: $0.tooltip, class: $0.state, percentage: $0.percent))
        },
        .i3blocks: { try TrackerDesk.json(I3Block(full_text: $0.text, short_text: $0.short, color: $0.colour)) },
        // %{ begins a word of polybar's own.
        .polybar: { "%{F\($0.colour)}\(Escaping.replacing($0.text, ["%{": "%%{"]))%{F-}" },
        // # begins a word of tmux' own.
        .tmux: { "#[fg=\($0.colour)]\(Escaping.replacing($0.text, ["#": "##"]))#[default]" },
        .plain: { $0.text },
    ]

    /// Waybar's custom module, `return-type: json`.
    private struct Waybar: Encodable {
        var text: String
        var alt: String
        var tooltip: String
        /// The CSS class: `onTrack`, `attention` or `overdue`; colours follow it.
        var `class`: String
        var percentage: Int
    }

    /// The i3bar protocol, for `format=json`.
    private struct I3Block: Encodable {
        var full_text: String
        var short_text: String
        var color: String
    }
}
