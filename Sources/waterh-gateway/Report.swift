import ArgumentParser
import CommandSupport
import Foundation
import Store
import TrackerCore
import Utilities

struct Report: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "report", abstract: "Create a redacted support bundle",
        discussion: """
            Contains versions, the findings of doctor, settings, failed polls, the last lines of the log and the row \
            counts of the store, without drinks. Addresses, names, credentials and amounts are redacted. Nothing is \
            sent: check the archive before you send it. The log is in systemd's journal, or in the file of --log.
            """)

    @OptionGroup var link: LinkOptions
    @OptionGroup var storeOptions: StoreOptions

    @Option(
        name: .shortAndLong,
        help: ArgumentHelp("Archive to write (default: waterh-report-DATE.tar.gz)", valueName: "file"),
        completion: .file())
    var output: String?

    @Option(
        help: ArgumentHelp("Log of the service, if systemd's journal does not have it", valueName: "file"),
        completion: .file())
    var log: String?

    @Option(help: "Number of lines of the log (0–10000)")
    var lines = 300

    func validate() throws {
        guard (0...10_000).contains(lines) else { throw ValidationError("invalid --lines \(lines): expected 0–10000") }
    }

    func run() async throws {
        let (file, location) = try storeOptions.location.load()
        let exists = location.origin == .service || FileManager.default.fileExists(atPath: location.path)
        let store = exists ? (try? location.open(for: .reading)) : nil
        let polls = (store?.path).map(FailedPollFiles.all)?.reversed() ?? []
        let facts = await BluetoothFacts.gather()
        let redactor = Redactor(file, store, polls, facts, link: link.link)
        // Captures are not included, because they contain addresses and amounts.
        let parts: [(name: String, text: String)] = [
            ("versions.txt", await ReportParts.versions(facts)),
            ("doctor.txt", Doctor.lines(try await DoctorChecks.all(link, storeOptions)).joined(separator: "\n")),
            ("settings.txt", ReportParts.settings(file, store)),
            ("store.txt", ReportParts.storeSummary(location, store)), ("polls.txt", ReportParts.traces(polls)),
            ("log.txt", try await ReportParts.log(log, lines: lines)),
        ]
        let day = try Machine.zone().wall(at: Machine.now()).description.prefix(10)
        let path = output ?? "waterh-report-\(day).tar.gz"
        try await ReportArchive.write(
            parts.map { ($0.name, redactor.text($0.text)) }, to: path,
            excluding: [location.path, storeOptions.location.config ?? Paths.configuration] + [log].compactMap(\.self))
        TextOutput.standard.line("\(path): \(parts.map(\.name).joined(separator: ", "))")
        TextOutput.standard.line(
            """
            Addresses, names, credentials and amounts are redacted. Check it before you send it: tar -xzOf \
            \(Escaping.shellWord(path)) | less
            """)
    }
}
