import ArgumentParser
import CommandKit
import Foundation
import Store
import TrackerCore

struct Export: StoreCommand {
    static let configuration = CommandConfiguration(
        abstract: "Write all drinks to a file.",
        discussion: "apple-health is XML for importer apps (Apple Health itself reads no files); csv suits those and spreadsheets; json keeps everything.")
    @OptionGroup var options: StoreOptions
    var access: TrackerStore.Access { .looking }
    @Option(help: "apple-health, csv or json.") var format: HealthImport.Format = .appleHealth
    @Option(name: .shortAndLong, help: "The file to write; - or nothing for standard output.", completion: .file()) var output: String?

    func run(_ desk: Desk) throws {
        let drinks = try desk.store.allDrinks()
        let text = switch format {
        case .appleHealth: HealthExport.appleHealth(drinks)
        case .csv: HealthExport.csv(drinks)
        case .json: HealthExport.json(drinks)
        }
        guard let output, output != "-" else {
            desk.console.line(text.hasSuffix("\n") ? String(text.dropLast()) : text)
            return
        }
        do {
            try Data(text.utf8).write(to: URL(fileURLWithPath: output), options: .atomic)
        } catch {
            throw CommandFailure(
                .failed, "The export could not be written to \(output): \(error.localizedDescription)",
                advice: "Check that the directory exists, that you may write there, and that the disk is not full.")
        }
        try desk.say(["drinks": drinks.count]) { ["Wrote \(counted(drinks.count, "drink")) to \(output)."] }
    }
}

extension HealthImport.Format: ExpressibleByArgument {}

struct Import: StoreCommand {
    static let configuration = CommandConfiguration(
        abstract: "Read drinks from an export of ours or of Apple Health: all, or none.",
        discussion: "The format is recognised. What is known already adds nothing, so a file may be read twice.")
    @OptionGroup var options: StoreOptions
    @Argument(help: "The file; - for standard input.", completion: .file()) var file: String

    /// Larger files are refused: an export of Apple Health with years of heart rates stays below it.
    private static let limitBytes = 2 << 30

    private struct Report: Encodable {
        var added: Int
        var known: Int
        var empty: Int
        var state: TrackerSnapshot
    }

    func run(_ desk: Desk) throws {
        let text = try read()
        let samples = try HealthImport.samples(text)
        let outcome = try desk.store.importSamples(samples, areOurs: HealthImport.format(of: text) == .json, desk.context)
        let snapshot = try desk.state()
        let report = Report(added: outcome.added, known: outcome.known, empty: outcome.empty, state: snapshot)
        try desk.say(report) {
            ["Added \(counted(outcome.added, "drink")), \(outcome.known) known already"
                + (outcome.empty > 0 ? ", \(outcome.empty) of 0 ml passed over." : "."), desk.standing(snapshot)]
        }
    }

    private func read() throws -> String {
        let data: Data
        do {
            if file == "-" {
                data = try FileHandle.standardInput.read(upToCount: Self.limitBytes + 1) ?? Data()
            } else {
                let handle = try FileHandle(forReadingFrom: URL(fileURLWithPath: file))
                defer { try? handle.close() }
                data = try handle.read(upToCount: Self.limitBytes + 1) ?? Data()
            }
        } catch {
            throw CommandFailure(
                .failed, "\(file) cannot be read: \(error.localizedDescription)", advice: "Check the name and its permissions.")
        }
        guard data.count <= Self.limitBytes else {
            throw CommandFailure(.badInput, "\(file) is larger than 2 GiB.", advice: "Export a shorter time, or only water.")
        }
        guard let text = String(validating: data, as: UTF8.self) else {
            throw CommandFailure(.badInput, "\(file) is not text in UTF-8.", advice: "Nothing was imported. Is it the right file?")
        }
        return text
    }
}

struct Purge: SyncingCommand {
    static let configuration = CommandConfiguration(
        abstract: "Delete everything: drinks, sessions, settings, tokens, health files. There is no way back.")
    @OptionGroup var options: StoreOptions
    @Flag(name: .shortAndLong, help: "Do not ask.") var yes = false

    func run(_ desk: Desk) async throws {
        try Confirmation.ask("Delete everything in \(desk.store.path)?", isConfirmed: yes, console: desk.console)
        // The server first: when it does not answer, nothing is deleted and the purge can be tried again.
        if let client = try desk.syncClient(), let profile = try desk.store.profile() { try await client.deleteUser(profile.userID) }
        try desk.store.removeHealthFiles()
        try desk.store.purge()
        try desk.say(["purged": true]) { ["Everything is deleted. Start anew with: waterh-tracker setup"] }
    }
}
