import ArgumentParser
import Bluetooth
import BottleProtocol
import CommandSupport
import Foundation
import Gateway
import TrackerCore
import TrackerService
import Utilities

struct BenchDayCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "bench-day", abstract: "Guide a test session with a real bottle",
        discussion: """
            Tests the bottle step by step, records everything, and answers ten questions about the protocol. Writes a \
            folder with captures, steps, findings and a store with the bottle's drinks. Records are acknowledged only \
            after they are recorded and stored. Ctrl-C ends the session and keeps the recording. Over bluez the kernel \
            records the traffic, which requires root. Answers can come from a pipe, one per line: an empty line is the \
            default, s skips the step.
            """)

    @OptionGroup var link: LinkOptions

    @Option(
        help: ArgumentHelp(
            "Output directory, created if missing, otherwise empty (default: bench-day- and the date)",
            valueName: "folder"), completion: .directory)
    var folder: String?

    @Option(
        help: ArgumentHelp("Store for the drinks (default: one in the folder)", valueName: "file"), completion: .file())
    var store: String?

    @Option(help: .configuration, completion: .file())
    var config: String?

    @Option(
        help: ArgumentHelp(
            "Time zone of the bottle's clock (default: $WATERH_ZONE, else waterh.toml, else the system's)",
            valueName: "zone"))
    var zone: String?

    @Option(
        help: ArgumentHelp(
            "Control socket of a waterh-emulator that answers the questions, for a rehearsal", valueName: "unix:PATH"))
    var rehearse: ControlPath?

    @Flag(help: "Print the findings as one JSON object")
    var json = false

    func run() async throws {
        let file = try Configuration.load(config)
        let link = link.filled(from: file)
        if case .capture = try link.name {
            throw CommandFailure(
                .wrongUse, "invalid --link capture:FILE: a session needs a bottle",
                advice: "List its contents: waterh-replay info FILE")
        }
        let hasRadio = try link.name.hasRadio
        if hasRadio { try Self.checkServices() }
        let zone = try StoreProvider.choice(file.zone(flag: zone)).host
        let folder = try BenchDayFolder(folder, link, at: zone.wall(at: Machine.now()))
        let location = StoreLocation(path: store ?? folder.store)
        let wanted = link.selectedBottle.map(BottleSelector.init(text:))
        let ownStore = store.map { StoreLocation(path: $0) } ?? (try? StoreLocation.find(nil, file))
        let own = Set(ownStore.map(Adoption.adoptedBottles)?.flatMap(\.identities) ?? [])
        let session = BenchDaySession(
            BenchDaySession.Setup(
                hasRadio: hasRadio, folder: folder, user: BenchDayUser(control: rehearse?.path),
                store: { [link] in try await Self.storeLog(link, of: $0, file, location, zone: zone.id, folder) },
                isWanted: { seen in
                    // Without a radio, the only peer is the bottle.
                    guard hasRadio else { return true }
                    if let wanted { return wanted.matches(address: seen.address, name: seen.name) }
                    let isOwn = seen.isAddressPrivate || seen.address.map { own.contains($0.description) } == true
                    return BottleSelector.looksLikeBottle(seen) && (own.isEmpty || isOwn)
                },
                wall: {
                    BottleClock(zone.wall(at: Machine.now()))
                        ?? BottleClock(yearByte: 0, month: 1, day: 1, hour: 0, minute: 0, second: 0)
                }))
        Diagnostics.line("Recording to \(folder.path).")
        let (outcome, stopped) = await Interruptible.stoppable { try await session.run() }
        await folder.close()
        let day = await session.record
        // Write first, because the disk might be full.
        let isComplete = (try? outcome.get()) != nil
        let written = Result { try folder.write(day, isComplete: isComplete) }
        show(day, folder, isComplete: isComplete)
        if stopped == nil, !isComplete, case .failure(let error) = written {
            Diagnostics.line("Writing the findings failed: \(error)")
        }
        do {
            if stopped == nil { try outcome.get() }
        } catch let error as LinkError {
            let advice = LinkAdvice(linkName: "\(try link.name)", hasRadio: hasRadio).about(error.code)
            throw CommandFailure(
                .noLink, "\(asSentence(error.description)) The recording is in \(folder.path).",
                // Do not advise a poll: it would acknowledge the log.
                advice: error.code == .disconnected
                    ? """
                    Nothing was acknowledged: the bottle still has its log. Bring it nearer, and start a new session.
                    """
                    : advice)
        }
        try written.get()
        if stopped != nil { throw ExitCode(ExitStatus.interrupted.rawValue) }
    }

    /// Throws if a running service uses a default store: it would read and acknowledge the log.
    private static func checkServices() throws {
        let stores = [Paths.store, Paths.serviceStore]
        guard let busy = stores.first(where: { ServiceSocket(path: ServiceSocket.path(forStore: $0)).isAnswering })
        else { return }
        throw CommandFailure(
            .refused, "a running service would read and acknowledge the log (store \(busy))",
            advice: "Stop it first: systemctl stop waterh-gateway, or systemctl --user stop waterh-gateway-user")
    }

    /// Polls the bottle once: stores its log and acknowledges nothing.
    /// - Returns: the stored records.
    /// - Throws: `CommandFailure` if the log was not read completely or not stored.
    private static func storeLog(
        _ link: LinkOptions, of address: String?, _ file: Configuration, _ location: StoreLocation, zone: String,
        _ folder: BenchDayFolder
    ) async throws -> Set<[UInt8]> {
        let provider = try StoreProvider(location, zone: zone)
        var options = try await provider.pollOptions(dialect: nil)
        options.select(address ?? link.selectedBottle, file)
        // This poll must only read, so disable all writes.
        (
            options.isAcknowledgementDisabled, options.correctClockBeyond, options.goalMl, options.managesTodayAmount,
            options.managesLight
        ) = (true, nil, nil, false, false)
        let driver = GatewayDriver(link: try await folder.open("5-storing"), clock: .system(wall: { Machine.now() }))
        let (report, journaled) = await provider.poll(options, with: driver)
        await driver.close()
        try await folder.finish()
        provider.tracker().afterPoll(report)
        // With an untrusted clock the poll fails. Its records are stored, but do not count, and stay in the bottle.
        if let failure = report.commandFailure() { throw failure }
        guard report.complete else { throw CommandFailure(.failed, "The log was not read to its end.") }
        return Set(journaled.map(\.entry.raw))
    }

    private func show(_ day: BenchDayRecord, _ folder: BenchDayFolder, isComplete: Bool) {
        let out = TextOutput.standard
        guard !json else { return out.line(folder.object(day, isComplete: isComplete)) }
        for question in BenchDayQuestion.all {
            let finding = question.finding(day)
            out.line("\(question.text) (\(question.rule))")
            out.line("  \(finding.answer): \(finding.text)")
        }
        if !day.omissions.isEmpty {
            out.line("Skipped parts: \(day.omissions.count)")
            for sentence in day.omissions { out.line("  \(sentence)") }
        }
        out.line("\(folder.path): \(folder.names.joined(separator: ", "))")
        if store == nil, FileManager.default.fileExists(atPath: folder.store) {
            out.line(
                """
                The drinks are in the folder's store. Copy them to your store with: waterh-tracker export \
                --format json --output drinks.json --store \(Escaping.shellWord(folder.store)) && \
                waterh-tracker import drinks.json
                """)
        }
    }
}
