import CommandSupport
import Foundation
import TrackerCore

/// Text and small graphics for a terminal; plain text in a pipe or with `NO_COLOR`.
enum Console {
    /// Whether standard output is a terminal with colour.
    private static let hasGraphics =
        TextOutput.standard.isTerminal && (ProcessInfo.processInfo.environment["NO_COLOR"] ?? "").isEmpty

    static func paint(_ text: String, _ colour: TextColour) -> String { hasGraphics ? colour.paint(text) : text }

    static func colour(_ urgency: Urgency) -> TextColour {
        switch urgency {
        case .onTrack: .blue
        case .attention: .amber
        case .overdue: .red
        }
    }

    /// A horizontal bar with a marker at the expected progress; `nil` without graphics.
    static func bar(_ progress: Double, marker: Double? = nil, width: Int = 24, _ colour: TextColour) -> String? {
        guard hasGraphics else { return nil }
        let filled = cells(progress, width)
        let marked = marker.map { min(width - 1, cells($0, width)) }
        let text = (0..<width).map { $0 < filled ? "█" : $0 == marked ? "┊" : "░" }.joined()
        return paint(text, colour)
    }

    /// The ring as one character: empty, a quarter, half, three quarters or full.
    static func ring(_ progress: Double) -> String? {
        hasGraphics ? ["○", "◔", "◑", "◕", "●"][progress >= 1 ? 4 : min(3, cells(progress, 4))] : nil
    }

    /// A chart with one character per value.
    static func sparkline(_ values: [Int?], maximum: Int) -> String? {
        guard hasGraphics else { return nil }
        let blocks = ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"]
        return values.map { value in
            value.map { blocks[min(7, 8 * max(0, $0) / max(1, maximum))] } ?? " "
        }.joined()
    }

    /// A horizontal gauge: the centre in the middle, higher values to the right.
    static func gauge(_ position: Double, isWarning: Bool, width: Int = 25) -> String? {
        guard hasGraphics else { return nil }
        let at = min(width - 1, max(0, cells(position, width)))
        let text = (0..<width).map { $0 == at ? "◆" : $0 == width / 2 ? "┼" : "─" }.joined()
        return paint(text, isWarning ? .amber : .blue)
    }

    private static func cells(_ share: Double, _ width: Int) -> Int {
        share.isFinite ? Int(min(1, max(0, share)) * Double(width)) : 0
    }
}

extension String {
    func padded(_ width: Int) -> String { self + String(repeating: " ", count: max(0, width - count)) }

    func aligned(_ width: Int) -> String { String(repeating: " ", count: max(0, width - count)) + self }
}
