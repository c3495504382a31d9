import ArgumentParser
import Bluetooth
import CommandSupport
import Foundation
import Gateway
import HomeAssistant
import PostgreSQL
import Store
import TrackerCore
import TrackerService
import Utilities
import WebServer

struct Doctor: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor", abstract: "Check the installation",
        discussion: """
            Checks store, zone, bottles, broker, page, link, kernel, adapters, bluetoothd and rights. --fix runs the \
            fixes that this user may run, and prints the commands for the others.
            """)

    @OptionGroup var link: LinkOptions
    @OptionGroup var storeOptions: StoreOptions

    @Flag(help: "Apply the fixes that are a single command")
    var fix = false

    @Flag(help: "Print one JSON object")
    var json = false

    func run() async throws {
        var (findings, repairs) = (try await DoctorChecks.all(link, storeOptions), [Repair]())
        if fix {
            repairs = await Repair.all(of: findings)
            // bluetoothd switches its adapters on shortly after the start.
            for attempt in 0..<6
            where repairs.contains(where: \.isDone) && (attempt == 0 || findings.contains { $0.status == .bad }) {
                if attempt > 0 { try await Task.sleep(for: .milliseconds(500)) }
                findings = try await DoctorChecks.all(link, storeOptions)
            }
        }
        let bad = findings.filter { $0.status == .bad }
        json ? TextOutput.standard.line(Self.object(findings, fix ? repairs : nil)) : show(findings, repairs)
        guard !bad.isEmpty else { return }
        throw ExitCode((bad.allSatisfy(\.isAbsence) ? ExitStatus.noLink : .failed).rawValue)
    }

    private func show(_ findings: [Finding], _ repairs: [Repair]) {
        for repair in repairs {
            TextOutput.standard.line("\(repair.isDone ? "done" : "type") \(repair.check): \(repair.text)")
        }
        for line in Self.lines(findings) { TextOutput.standard.line(line) }
    }

    static func lines(_ findings: [Finding]) -> [String] {
        findings.flatMap { ["\($0.status.label) \($0.check): \($0.found)"] + ($0.advice.map { ["    \($0)"] } ?? []) }
    }

    private static func object(_ findings: [Finding], _ repairs: [Repair]?) -> JSONValue {
        let list = findings.map { finding -> JSONValue in
            [
                "check": .string(finding.check), "status": .string(finding.status.rawValue),
                "found": .string(finding.found), "advice": JSONValue(finding.advice),
                "fix": JSONValue(finding.remedy.map(Repair.line)),
            ]
        }
        let done = repairs.map {
            $0.map { ["check": .string($0.check), "done": .bool($0.isDone), "words": .string($0.text)] as JSONValue }
        }
        return [
            "ok": .bool(!findings.contains { $0.status == .bad }), "checks": .array(list),
            "repairs": done.map { .array($0) } ?? .null,
        ]
    }
}

extension DoctorChecks {
    static func all(_ link: LinkOptions, _ options: StoreOptions) async throws -> [Finding] {
        let (file, location) = try options.location.load()
        let ownBottles = Adoption.adoptedBottles(location)
        let linkOptions = link.filled(from: file)
        var findings = store(location, zone: options.namedZone(file))
        findings += [
            zone(options.namedZone(file), location), await clock(file, location),
            bottles(ownBottles, file, link: try? linkOptions.name),
        ]
        findings += await broker(location, file)
        findings += await postgres(file)
        findings += await page(file, location)
        findings.append(await self.link(linkOptions, ownBottles))
        let wanted = linkOptions.selectedBottle.map { [$0] } ?? file.bottles
        let selectors = wanted.compactMap { AdoptedBottle.resolvingAlias($0, among: ownBottles) }.map(
            BottleSelector.init(text:))
        let facts = await BluetoothFacts.gather()
        findings +=
            BluetoothDiagnosis(facts, link: try linkOptions.name) { name, address in
                selectors.contains { $0.matches(address: BluetoothAddress(address), name: name) }
                    || BottleSelector.looksLikeBottle(Advertisement(peer: PeerID(address), name: name))
            }.findings
        return findings
    }

    static func privacy(_ path: String) -> [Finding] {
        let folder = (path as NSString).deletingLastPathComponent
        let modes = [(path, "600")] + ((folder as NSString).lastPathComponent == "waterh" ? [(folder, "700")] : [])
        return modes.compactMap { path, mode in
            var status = stat()
            guard stat(path, &status) == 0, status.st_uid == geteuid(), status.st_mode & 0o077 != 0 else { return nil }
            return Finding(
                "privacy", .note, "\(path) is readable by others (mode \(String(status.st_mode & 0o777, radix: 8)))",
                advice: "chmod \(mode) \(Escaping.shellWord(path))",
                remedy: Remedy(["chmod", mode, path], needsRoot: false))
        }
    }
}

extension Finding.Status {
    fileprivate var label: String {
        switch self {
        case .good: "ok  "
        case .note: "note"
        case .bad: "BAD "
        }
    }
}

/// The checks of the doctor, each with its findings.
enum DoctorChecks {
    /// Checks the store, or whether one can be created. Writes nothing.
    /// - Parameter zone: the time zone of instants; `nil` for that of the day.
    static func store(_ location: StoreLocation, zone: String?) -> [Finding] {
        let path = location.path
        guard location.origin == .service || FileManager.default.fileExists(atPath: path) else {
            if let target = try? FileManager.default.destinationOfSymbolicLink(atPath: path) {
                return [
                    Finding(
                        "store", .bad, "\(path) is a link to \(target), which does not exist",
                        advice: """
                            Restore the target (its disk might not be mounted), or remove the link: a poll would \
                            create another store at the target.
                            """)
                ]
            }
            var parent = URL(fileURLWithPath: path).deletingLastPathComponent()
            while parent.path != "/", !FileManager.default.fileExists(atPath: parent.path) {
                parent.deleteLastPathComponent()
            }
            let isWritable = access(parent.path, W_OK) == 0
            return [
                Finding(
                    "store", isWritable ? .good : .bad, "\(path) does not exist; the first poll creates it",
                    advice: isWritable ? nil : "\(parent.path) is not writable: name another store with --store.")
            ]
        }
        do {
            let store = try location.open(for: .reading)
            let counts = try store.journalCounts()
            let content = """
                \(path): \(counted(try store.countedDrinks(), "drink")); \(counted(counts.drinks, "record")) from \
                bottles, \(counts.quarantined) quarantined
                """
            let text =
                switch store.fileState {
                case .store: content
                case .older: "\(content); from an earlier version, the next poll updates it"
                case .nothing: "\(path) is an empty file; the first poll creates a store in it"
                }
            let problem = StoreLocation.writeProblem(path)
            var findings = [
                problem.map { Finding("store", .bad, $0.text, advice: $0.advice) } ?? Finding("store", .good, text)
            ]
            if let other = location.serviceStore {
                findings.append(Finding("service", .note, "a system service uses another store: \(other)"))
            }
            let day = (try? StoreProvider.zones(zone, location))?.day ?? .utc
            for problem in try store.publisherErrors() {
                let text = problem.text(now: Machine.now()) {
                    "\(day.wall(at: $0).dateText) \(day.wall(at: $0).timeText)"
                }
                findings.append(Finding(problem.publisher, .note, "last error of a service: \(text)"))
            }
            return findings + privacy(path)
        } catch {
            guard let failure = error as? CommandFailure ?? (error as? any Problem).map({ CommandFailure($0) }) else {
                return [Finding("store", .bad, "\(error)", advice: "Name another store with --store.")]
            }
            return [Finding("store", .bad, failure.sentence, advice: failure.advice)]
        }
    }

    static func zone(_ name: String?, _ location: StoreLocation) -> Finding {
        guard let zones = try? StoreProvider.zones(name, location) else {
            return Finding(
                "time zone", .bad, "\(name ?? "the system's zone") is not an IANA name",
                advice: "Set TZ or the setting day.zone, e.g. Europe/Berlin.")
        }
        let bottle =
            zones.bottle == zones.day
            ? "" : "; the bottle's clock shows \(zones.bottle.id), now \(zones.bottle.wall(at: Machine.now()))"
        return Finding("time zone", .good, "\(zones.day.id), now \(zones.day.wall(at: Machine.now()))\(bottle)")
    }

    /// Checks whether polls trust this computer's clock.
    static func clock(_ file: Configuration, _ location: StoreLocation) async -> Finding {
        let settings = try? location.open(for: .reading).settings()
        if file.trustClock == true || settings?.bottle.trustsClock == true {
            return Finding("clock", .good, "trusted without a time server (trust-clock)")
        }
        if await Machine.isClockSynchronised() == true {
            return Finding("clock", .good, "synchronised with a time server")
        }
        return Finding(
            "clock", .note,
            "not synchronised: a poll acknowledges records only if the bottle's clock or log confirms the time",
            advice: "timedatectl set-ntp true. Without a time server, in waterh.toml: trust-clock = true")
    }

    /// Checks the login at the broker and the topic prefix. Leaves no data at the broker.
    static func broker(_ location: StoreLocation, _ file: Configuration) async -> [Finding] {
        guard let store = try? location.open(for: .reading) else { return [] }
        let inFile = file.settings["mqtt.url"] != nil
        func bad(_ text: String, _ advice: String) -> [Finding] { [Finding("mqtt", .bad, text, advice: advice)] }
        do {
            let check = try await BrokerCheck.run(
                store, overlay: { try file.mqttSettings(over: $0) },
                nonce: String(UInt32.random(in: 0...UInt32.max), radix: 36))
            return switch check {
            case nil: []
            case .good(let text): [Finding("mqtt", .good, text)]
            case .prefixTaken(let text):
                bad(
                    text,
                    BrokerAdvice.prefixTaken(inFile: file.settings["mqtt.prefix"] != nil, store: location.path))
            case .failed(let text, let kind): bad(text, BrokerAdvice.line(kind, inFile: inFile, store: location.path))
            case .serviceError(let text): bad(text, BrokerAdvice.serviceError)
            }
        } catch {
            return bad(
                (error as? any Problem)?.sentence ?? "\(error)",
                BrokerAdvice.line(.invalid, inFile: inFile, store: location.path))
        }
    }

    /// Checks the connection to the database, its schema and the role. Writes nothing.
    static func postgres(_ file: Configuration) async -> [Finding] {
        do {
            guard let plan = try file.postgresPlan() else { return [] }
            try await PostgresPublisher.check(plan)
            return [Finding("postgres", .good, "\(plan): accepts the connection")]
        } catch let failure as PostgresFailure {
            return [Finding("postgres", .bad, failure.cause, advice: failure.advice)]
        } catch {
            let failure = error as? CommandFailure
            return [Finding("postgres", .bad, failure?.sentence ?? "\(error)", advice: failure?.advice)]
        }
    }

    /// Checks which program listens at the address of the page; empty if it is off, or if no program listens.
    static func page(_ file: Configuration, _ location: StoreLocation) async -> [Finding] {
        let settings = try? location.open(for: .reading).settings()
        let listen =
            Machine.variable("WATERH_LISTEN") ?? file.listen ?? settings?.service.httpListen
            ?? ServiceSettings().httpListen
        guard case .tcp(let host, let port)? = HTTPServer.Endpoint(listen), port != 0 else { return [] }
        let local = ["0.0.0.0", "*"].contains(host) ? "127.0.0.1" : host == "::" ? "::1" : host
        let url = "http://\(local.contains(":") ? "[\(local)]" : local):\(port)/healthz"
        do throws(OutgoingFailure) {
            let answer = try await OutgoingClient(limit: .seconds(2)).send(OutgoingRequest("GET", url))
            if answer.status == 200, answer.body == Array("ok\n".utf8) {
                return [Finding("page", .good, "served at \(listen); to sign in: waterh-gateway open")]
            }
        } catch {
            if error.kind == .unreachable { return [] }
        }
        return [
            Finding(
                "page", .note, "another program listens at \(listen), the address of the page",
                advice: """
                    Find it with: ss -ltnp. End it, or set another address in waterh.toml: listen = "127.0.0.1:8078"
                    """)
        ]
    }

    /// The finding about the bottles that the service polls.
    static func bottles(_ ownBottles: [AdoptedBottle], _ file: Configuration, link: LinkName?) -> Finding {
        let listed = file.bottles
        guard listed.isEmpty else {
            return Finding("bottles", .good, "in the configuration: \(listed.joined(separator: ", "))")
        }
        let names = ownBottles.map { ($0.aliases.sorted() + $0.identities.sorted()).joined(separator: " = ") }
        guard ownBottles.isEmpty else { return Finding("bottles", .good, names.joined(separator: ", ")) }
        if case .capture = link { return Finding("bottles", .note, "none adopted; a poll of a capture adopts none") }
        let hasNeighbours = link?.hasNeighbours ?? true
        return Finding(
            "bottles", .note,
            hasNeighbours
                ? "none adopted: nothing is polled" : "none yet; the first poll adopts the bottle of this link",
            advice: hasNeighbours ? "waterh-gateway adopt ADDRESS" : nil)
    }

    /// Opens the link, and scans for at most 3 s.
    static func link(_ options: LinkOptions, _ ownBottles: [AdoptedBottle]) async -> Finding {
        let central: any CentralLink
        do {
            central = try options.open(by: .doctor)
        } catch let failure as CommandFailure {
            return Finding("link", .bad, failure.sentence, advice: failure.advice, isAbsence: failure.status == .noLink)
        } catch {
            return Finding("link", .bad, "\(error)")
        }
        let end = Task {
            try await Task.sleep(for: .seconds(3))
            await central.close()
        }
        defer { end.cancel() }
        central.perform(.startScan)
        // Polls of a capture accept each of its bottles, and adopt none.
        let isCapture = central is CaptureLink
        let ownBottles = isCapture ? [] : ownBottles
        let check = "link \(central.name)"
        let advice = LinkAdvice(linkName: central.name, hasRadio: central.hasRadio, by: .doctor)
        var finding = Finding(check, .note, "works; no bottle was seen in 3 s", advice: advice.about(.notFound))
        var inRange: [Advertisement] = []
        scan: for await event in central.events {
            switch event {
            case .advertised(let seen)
            where central.hasRadio && !isCapture && ownBottles.isEmpty && BottleSelector.looksLikeBottle(seen):
                inRange.removeAll { $0.peer == seen.peer }
                inRange.append(seen)
            case .advertised(let seen) where !central.hasRadio || BottleSelector.looksLikeBottle(seen):
                let scannedBottle = await ScannedBottle(
                    seen, on: options, hasRadio: central.hasRadio, limit: .seconds(2))
                let isOwn = ownBottles.isEmpty ? nil : scannedBottle.isOwn(ownBottles)
                let kind =
                    isOwn.map { $0 ? "this store's own bottle" : "a bottle that is not this store's" } ?? "a bottle"
                finding = Finding(
                    check, isOwn == false ? .note : .good,
                    "\(kind) is in range: \(scannedBottle.name ?? scannedBottle.identity ?? seen.peer.text)",
                    advice: isOwn == false ? "Polls ignore it. If it is yours: \(scannedBottle.adoption)" : nil)
                // The store's bottle might still appear.
                if isOwn != false { break scan }
            case .scanFailed(let error), .unavailable(let error):
                // The check of the system bus or of bluetoothd has the cause.
                finding = Finding(
                    check, .bad, error.code == .serviceLost ? error.sentence : error.description,
                    advice: advice.about(error.code), isAbsence: error.code != .permissionDenied)
                break scan
            default: break
            }
        }
        await central.close()
        guard !inRange.isEmpty else { return finding }
        return Finding(
            check, .note, "not adopted, in range: " + BottleInRange.list(inRange).map(\.text).joined(separator: "; "),
            advice: "If it is yours: waterh-gateway adopt ADDRESS")
    }
}
