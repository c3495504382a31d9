import ArgumentParser
import Bluetooth
import CommandKit
import CommandStore
import Foundation
import Gateway
import Links
import Store
import TrackerCore

struct Doctor: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "What is there, what is missing, and what to do about each.")

    @OptionGroup var link: LinkOptions
    @OptionGroup var place: StoreOptions

    @Flag(help: "One JSON object on standard output.")
    var json = false

    func run() async throws {
        let file = try Configuration.load(place.config)
        var link = link
        link.fill(file)
        let way = try link.name
        let store = try place.place(file)
        var findings = DoctorChecks.store(store) + [DoctorChecks.zone(place.namedZone(file), store)]
        let own = OwnBottles.look(store)
        findings.append(DoctorChecks.bottles(own))
        findings.append(await DoctorChecks.link(link, own))
        let wanted = OwnBottle.meant(link.wantedBottle, among: own)
        let facts = await BluetoothFacts.gather()
        findings += BluetoothDiagnosis(facts, link: way) { name, address in
            wanted.map { BottleSelector(text: $0).matches(address: BluetoothAddress(address), name: name) } == true
                || BottleSelector.looksLikeBottle(Advertisement(peer: PeerID(address), name: name))
        }.findings
        let bad = findings.filter { $0.status == .bad }
        if json {
            let list = findings.map { finding -> JSONValue in
                ["check": .string(finding.check), "status": .string(finding.status.rawValue), "found": .string(finding.found), "advice": JSONValue(finding.advice.map(PrintedCommands.current.completed))]
            }
            TextOutput.standard.line(["ok": .bool(bad.isEmpty), "checks": .array(list)] as JSONValue)
        } else {
            for finding in findings {
                TextOutput.standard.words("\(finding.status.mark) \(finding.check): \(finding.found)")
                if let advice = finding.advice { TextOutput.standard.words("    \(advice)") }
            }
        }
        guard !bad.isEmpty else { return }
        throw ExitCode((bad.allSatisfy(\.isAbsence) ? ExitStatus.noLink : .failed).rawValue)
    }
}

extension Finding.Status {
    fileprivate var mark: String {
        switch self {
        case .good: "ok  "
        case .note: "note"
        case .bad: "BAD "
        }
    }
}

enum DoctorChecks {
    /// Looks into the store where there is one, and whether one could be made where there is none. Writes nothing.
    static func store(_ place: StorePlace) -> [Finding] {
        let path = place.path
        guard place.origin == .service || FileManager.default.fileExists(atPath: path) else {
            var parent = URL(fileURLWithPath: path).deletingLastPathComponent()
            while parent.path != "/", !FileManager.default.fileExists(atPath: parent.path) { parent.deleteLastPathComponent() }
            let isWritable = access(parent.path, W_OK) == 0
            return [
                Finding(
                    "store", isWritable ? .good : .bad, "\(path) does not exist; the first poll makes it",
                    advice: isWritable ? nil : "\(parent.path) takes no writes: name another place with --store.")
            ]
        }
        do {
            let store = try place.open(hostZone: nil, for: .looking)
            let counts = try store.journalCounts()
            let words = switch store.found {
            case .store: "\(path): \(counted(counts.drinks, "drink")), \(counts.quarantined) suspect"
            case .older: "\(path): \(counted(counts.drinks, "drink")), \(counts.quarantined) suspect; of an earlier version, the next poll brings it up to date"
            case .nothing: "\(path) is empty; the first poll makes a store of it"
            }
            var findings = [Finding("store", .good, words)]
            let unreadable = try store.unreadableRows()
            if let first = unreadable.first {
                findings.append(
                    Finding("rows", .bad, "\(counted(unreadable.count, "row")) that cannot be read, counted nowhere: \(first)", advice: "See them all with: waterh-tracker check --doctor"))
            }
            if let other = place.beside { findings.append(Finding("service", .note, "a system service keeps another day in \(other)")) }
            if access(path, W_OK) != 0 {
                findings.append(Finding("store", .bad, "\(path) takes no writes", advice: "Check its owner and permissions."))
            }
            return findings
        } catch let error as CommandFailure {
            return [Finding("store", .bad, error.sentence, advice: error.advice)]
        } catch let problem as any Problem {
            let failure = CommandFailure(problem)
            return [Finding("store", .bad, failure.sentence, advice: failure.advice)]
        } catch {
            return [Finding("store", .bad, "\(error)", advice: "Name another with --store.")]
        }
    }

    /// Those that a poll of this store would use.
    static func zone(_ given: String?, _ place: StorePlace) -> Finding {
        guard let zones = try? Depot.zones(given, place) else {
            return Finding("time zone", .bad, "\(given ?? "the system's") is no IANA name", advice: "Set TZ or the setting day.zone, e.g. Europe/Berlin.")
        }
        let bottle = zones.bottle == zones.day ? "" : "; the bottle's clock shows \(zones.bottle.id), now \(zones.bottle.wall(at: Machine.now()))"
        return Finding("time zone", .good, "\(zones.day.id), now \(zones.day.wall(at: Machine.now()))\(bottle)")
    }

    /// Which bottles a poll drains.
    static func bottles(_ own: [OwnBottle]) -> Finding {
        let names = own.map { ($0.aliases.sorted() + $0.identities.sorted()).joined(separator: " = ") }
        return own.isEmpty
            ? Finding("bottles", .note, "none yet; the first that answers a poll is this store's own")
            : Finding("bottles", .good, names.joined(separator: ", "))
    }

    /// Whether somebody is there, by a scan of at most three seconds.
    static func link(_ options: LinkOptions, _ own: [OwnBottle]) async -> Finding {
        let central: any CentralLink
        do {
            central = try options.open()
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
        let check = "link \(central.name)"
        let advice = LinkAdvice(linkName: central.name, hasRadio: central.hasRadio)
        var finding = Finding(check, .note, "works; no bottle was seen in 3 s", advice: advice.about(.notFound))
        look: for await event in central.events {
            switch event {
            case .advertised(let seen) where !central.hasRadio || BottleSelector.looksLikeBottle(seen):
                let sighting = await Sighting(seen, on: options, hasRadio: central.hasRadio, limit: .seconds(2))
                let isOwn = own.isEmpty ? nil : sighting.isOwn(own)
                let kind = isOwn.map { $0 ? "this store's own bottle" : "a bottle that is not this store's" } ?? "a bottle"
                finding = Finding(
                    check, isOwn == false ? .note : .good, "\(kind) is there: \(sighting.name ?? sighting.identity ?? seen.peer.text)",
                    advice: isOwn == false ? "Polls leave it alone. If it is yours: \(sighting.adoption)" : nil)
                // Its own may be seen yet.
                if isOwn != false { break look }
            case .scanFailed(let error), .unavailable(let error):
                finding = Finding(check, .bad, error.description, advice: advice.about(error.code), isAbsence: error.code != .permissionDenied)
                break look
            default:
                break
            }
        }
        await central.close()
        return finding
    }
}
