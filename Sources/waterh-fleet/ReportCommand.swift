import ArgumentParser
import CommandKit
import Foundation
import TrackerCore

struct ReportCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "report",
        abstract: "People by what they drank today, gateways by how long they are silent, and bottles.")

    @Flag(help: "As one JSON object.")
    var json = false

    @OptionGroup var database: DatabaseOptions

    func run() throws {
        let overview = try database.use {
            try $0.overview(
                now: Instant(milliseconds: Int64(Date().timeIntervalSince1970 * 1000)), within: .seconds(10))
        }
        let output = TextOutput.standard
        guard !json else {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
            output.line(String(decoding: try encoder.encode(overview), as: UTF8.self))
            return
        }
        if overview.isBehind {
            output.line(
                """
                What was told last is not in these figures yet: it is still being added up, or the database may \
                only be read.
                """
            )
        }
        for person in overview.people {
            output.line(
                """
                \(person.name): \(person.todayMl) ml in \(person.drinks) drinks on \
                \(person.day)\(person.lastDrinkSecondsAgo.map { ", the last \($0) s ago" } ?? "")
                """
            )
        }
        for gateway in overview.gateways {
            let seen = gateway.seenSecondsAgo.map { "seen \($0) s ago" } ?? "never seen"
            output.line(
                """
                Gateway \(gateway.name)\(gateway.isRevoked ? " (revoked)" : ""): \(seen), \(gateway.entries) \
                entries, \(gateway.poisoned) set aside\(gateway.wants.map { ", may not tell of \($0)" } ?? "")
                """
            )
        }
        for bottle in overview.bottles {
            output.line(
                """
                Bottle \(bottle.name): \(bottle.person)\(bottle.gateway.map { ", over \($0)" } ?? ""), \
                \(bottle.toldSecondsAgo) s ago
                """
            )
        }
        if overview.isCut { output.line("There are more than are shown.") }
        if overview.people.isEmpty, overview.gateways.isEmpty { output.line("Nobody was enrolled yet.") }
    }
}
