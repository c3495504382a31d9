import ArgumentParser
import BenchDay
import Bluetooth
import BottleProtocol
import CommandKit
import CommandStore
import Foundation
import Gateway
import Links
import TrackerCore
import Escaping

struct BenchDayCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "bench-day",
        abstract:
            """
            A day with a real bottle, guided: everything recorded, and what it says of each disputed point of the \
            protocol.
            """,
        discussion: """
            Ends with a folder: captures, findings, a draft page of evidence, and a store with the bottle's drinks. \
            Nothing is acknowledged before it is recorded and stored. Ctrl-C ends it at \
            any time and leaves what was recorded. Over bluez the recording is the kernel's and needs root. Answers \
            may come from a pipe, a line each; an empty line is the usual answer, s leaves a question out.
            """)

    @OptionGroup var link: LinkOptions

    @Option(
        help: ArgumentHelp(
            "Where everything goes; made, and empty if it is there. Default: bench-day- and the date.",
            valueName: "folder"), completion: .directory)
    var folder: String?

    @Option(
        help: ArgumentHelp(
            "The store that takes the bottle's drinks before they are acknowledged. Default: one in the folder.",
            valueName: "file"), completion: .file())
    var store: String?

    @Option(
        help: ArgumentHelp(
            "TOML. Default: ~/.config/waterh/waterh.toml, else /etc/waterh/waterh.toml.", valueName: "file"),
        completion: .file())
    var config: String?

    @Option(
        help: ArgumentHelp(
            """
            The time zone of the bottle's clock. Default: $WATERH_ZONE, else what waterh.toml says, else the \
            system's.
            """,
            valueName: "zone"))
    var zone: String?

    @Option(
        help: ArgumentHelp(
            "Nobody is asked: the person's part is played at this control socket of a waterh-emulator.",
            valueName: "unix:PATH"))
    var rehearse: String?

    @Flag(help: "The findings as one JSON object on standard output.")
    var json = false

    func run() async throws {
        let file = try Configuration.load(config)
        var link = link
        link.fill(file)
        if case .capture = try link.name {
            throw CommandFailure(.wrongUse, "A recording is no bottle.", advice: "Look at it with waterh-replay info.")
        }
        let control = try rehearse.map(Self.path)
        try await BenchDayMachine.check(link)
        let now = Machine.now()
        let zone = try Depot.choice(file.zone(flag: zone)).host
        let folder = try BenchDayFolder(folder ?? BenchDayFolder.usualName(zone.wall(at: now)))
        let place = StorePlace(path: store ?? folder.store)
        let recorders = try BenchDayRecorders(link, folder)
        let course = DayCourse(
            link: "\(try link.name)", hasRadio: try link.hasRadio,
            surroundings(
                link, folder, recorders, place, zone, control.map { RehearsedPerson(control: $0) } ?? TypingPerson()),
            limits: control == nil ? DayLimits() : .rehearsal)
        Diagnostics.line("Everything goes to \(folder.path).")
        let (outcome, stopped) = await Interruptible.stoppable { () -> (any Error)? in
            do {
                try await course.run()
                return nil
            } catch {
                return error
            }
        }
        await recorders.close()
        let day = await course.day
        let findings = DayJudge(day).findings
        // First to whoever waits: the disk may be full.
        let written = Result { try folder.write(day, findings, isWhole: outcome == nil) }
        try show(day, findings, folder, isWhole: outcome == nil)
        if let outcome, stopped == nil {
            if case .failure(let error) = written { Diagnostics.line("The findings are not in the folder: \(error)") }
            throw Self.failure(outcome, link, folder)
        }
        try written.get()
        if stopped != nil { throw ExitCode(ExitStatus.interrupted.rawValue) }
    }

    private func surroundings(
        _ link: LinkOptions, _ folder: BenchDayFolder, _ recorders: BenchDayRecorders, _ place: StorePlace,
        _ zone: Zone, _ person: any DayPerson
    ) -> DaySurroundings {
        let wanted = link.wantedBottle.map(BottleSelector.init(text:))
        let isRadio = (try? link.hasRadio) ?? true
        let zoneName = zone.id
        let config = config
        return DaySurroundings(
            person: person,
            wall: {
                BottleClock(zone.wall(at: Machine.now()))
                    ?? BottleClock(yearByte: 0, month: 1, day: 1, hour: 0, minute: 0, second: 0)
            },
            say: { Diagnostics.line($0) },
            isWanted: { seen in
                // Where there is no radio, whoever is at the other end is meant.
                wanted.map { isRadio ? $0.matches(address: seen.address, name: seen.name) : true }
                    ?? (!isRadio || BottleSelector.looksLikeBottle(seen))
            },
            open: { try await recorders.open($0) },
            close: { try await recorders.finish($0) },
            keep: { try folder.keep($0) },
            store: {
                try await BenchDayStoring(
                    link: link, place: place, zone: zoneName, config: config, recorders: recorders
                ).records()
            },
            advertised: { await recorders.advertisements(of: $0) })
    }

    private func show(_ day: BenchDayRecord, _ findings: [DayFinding], _ folder: BenchDayFolder, isWhole: Bool) throws {
        guard !json else {
            return TextOutput.standard.line(BenchDayFolder.object(day, findings, folder: folder.path, isWhole: isWhole))
        }
        let out = TextOutput.standard
        for verdict in DayFinding.Verdict.allCases {
            let some = findings.filter { $0.verdict == verdict }
            guard !some.isEmpty else { continue }
            out.line("\(verdict.rawValue.prefix(1).uppercased() + verdict.rawValue.dropFirst()): \(some.count)")
            for finding in some { out.line("  \(finding.point.rawValue) (\(finding.point.law)): \(finding.words)") }
        }
        if !day.omissions.isEmpty {
            out.line("Left out: \(day.omissions.count)")
            for sentence in day.omissions { out.line("  \(sentence)") }
        }
        out.line("\(folder.path): \(folder.names.joined(separator: ", "))")
        if store == nil, FileManager.default.fileExists(atPath: folder.store) {
            out.line(
                """
                The drinks are in the folder's store; into your own day with: waterh-tracker export \
                --format json --output drinks.json --store \(Escaping.shellWord(folder.store)) && \
                waterh-tracker import drinks.json
                """
            )
        }
    }

    private static func failure(_ error: any Error, _ link: LinkOptions, _ folder: BenchDayFolder) -> any Error {
        guard let error = error as? LinkError else { return error }
        let usual = LinkAdvice(linkName: (try? link.name).map { "\($0)" } ?? "", hasRadio: (try? link.hasRadio) ?? true)
            .about(error.code)
        // What ends a day comes before anything is stored or acknowledged.
        let advice =
            error.code == .disconnected
            ? "Nothing was acknowledged: the bottle has it all. Bring it nearer, and begin the day again." : usual
        return CommandFailure(
            .noLink, "\(sentence(error.description)) What was recorded until then is in \(folder.path).", advice: advice
        )
    }

    private static func path(_ text: String) throws -> String {
        guard case .unix(let path)? = try? LinkName(text) else {
            throw CommandFailure(.wrongUse, "'\(text)' is no place of a control socket.", advice: "Write unix:PATH.")
        }
        return path
    }
}

extension LinkOptions {
    /// Whether bottles are found by radio on this link.
    var hasRadio: Bool {
        get throws {
            switch try name {
            case .bluez, .l2cap, .hci, .esphome: true
            case .unix, .stream, .capture: false
            }
        }
    }
}
