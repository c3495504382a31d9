import ArgumentParser
import Foundation

struct ColorArguments: ParsableArguments {
    enum When: String, CaseIterable, ExpressibleByArgument {
        case auto, always, never
    }

    @Option(help: "Colour; auto: on a terminal, without NO_COLOR")
    var color: When = .auto

    var isColoured: Bool {
        switch color {
        case .always: true
        case .never: false
        case .auto: isatty(STDOUT_FILENO) == 1 && (ProcessInfo.processInfo.environment["NO_COLOR"] ?? "").isEmpty
        }
    }
}
