import ArgumentParser
import CommandSupport
import Foundation
import Store
import TrackerCore
import Utilities

struct Report: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "report",
        abstract:
            """
            Packs what a report of a fault needs: versions, the doctor's findings, settings, odd polls, the last \
            lines of the log, the store's shape.
            """,
        discussion: """
            Addresses, names, credentials and amounts are blurred, and nothing is sent anywhere: look into it before \
            you do. Drinks are not in it. The log is the journal's where systemd keeps one, else \
            the file that --log names.
            """)

    @OptionGroup var link: LinkOptions
    @OptionGroup var place: StoreOptions

    @Option(
        name: .shortAndLong,
        help: ArgumentHelp("The archive to write. Default: waterh-report- and the date, .tar.gz.", valueName: "file"),
        completion: .file())
    var output: String?

    @Option(
        help: ArgumentHelp("A log of the service that is not in systemd's journal.", valueName: "file"),
        completion: .file())
    var log: String?

    @Option(help: "How many of the log's last lines, 0–10,000.")
    var lines = 300

    func validate() throws {
        guard (0...10_000).contains(lines) else { throw ValidationError("--lines is 0 to 10000.") }
    }

    func run() async throws {
        let file = try Configuration.load(place.config)
        let places = [try place.place(file)]
        let there = places.filter { $0.origin == .service || FileManager.default.fileExists(atPath: $0.path) }
        let stores = there.compactMap { place in (try? place.open(hostZone: nil, for: .looking)).map { (place, $0) } }
        let facts = await BluetoothFacts.gather()
        let blur = ReportSecrets(file, stores.map { $0.1 }, facts, link: link.link).blur
        // The captures themselves stay where they are: their bytes hold addresses and amounts.
        let parts: [(name: String, text: String)] = [
            ("versions.txt", await ReportParts.versions(facts)),
            ("doctor.txt", Doctor.lines(try await DoctorChecks.all(link, place)).joined(separator: "\n")),
            ("settings.txt", ReportParts.settings(file, stores.map { $0.1 })),
            ("store.txt", ReportParts.shape(stores)),
            ("polls.txt", KeptFlights.stories(stores.map { $0.0.path })),
            ("log.txt", try await ReportParts.log(log, lines: lines)),
        ]
        let path = output ?? "waterh-report-\(try Machine.zone().wall(at: Machine.now()).description.prefix(10)).tar.gz"
        try await ReportArchive.write(
            parts.map { ($0.name, blur.text($0.text)) }, to: path,
            sparing: places.map(\.path) + [place.config ?? Paths.configuration] + [log].compactMap(\.self))
        TextOutput.standard.line("\(path): \(parts.map(\.name).joined(separator: ", "))")
        TextOutput.standard.line(
            """
            Addresses, names, credentials and amounts are blurred. Look before you send it: tar -xzOf \
            \(Escaping.shellWord(path)) | less
            """
        )
    }
}
