import BlueZ
import CommandSupport
import Foundation
import Gateway
import PostgreSQL
import Store
import TrackerCore
import TrackerService

extension Redactor {
    /// Redacts the names, addresses and credentials in the configuration, the store and the machine.
    /// - Parameter link: the value of `--link`.
    convenience init(
        _ file: Configuration, _ store: TrackerStore?, _ polls: [FailedPoll], _ facts: BluetoothFacts,
        link: String? = nil
    ) {
        var (names, secrets): (Set<String>, Set<String>) = ([], [])
        // The host name of an ESPHome device or an HCI controller is private.
        for link in [link, file.link, Machine.variable("WATERH_LINK")].compactMap({ $0 }) {
            let parts = link.split(separator: ":", maxSplits: 1)
            guard parts.count == 2, ["esphome", "hci"].contains(parts[0]) else { continue }
            names.insert(String(parts[1].prefix { $0 != ":" && $0 != "," }))
        }
        func redact(_ settings: [String: String]) {
            for (name, text) in settings where !ReportParts.mayBeShown(name) {
                if name.hasSuffix("oken") || name.hasSuffix("assword") || name.hasSuffix("ecret") {
                    secrets.insert(text)
                } else {
                    names.insert(text)
                }
            }
        }
        redact(file.settings)
        // Redact these names and secrets even if a file in the table cannot be read.
        names.formUnion(["url", "url-file", "password-file"].compactMap { file.postgres[$0] })
        secrets.formUnion([file.postgres["password"]].compactMap(\.self))
        if let database = try? PostgresPlan(file.postgres) {
            names.formUnion(database.privateNames)
            secrets.formUnion([database.knownPassword].compactMap(\.self))
        }
        // A directory name can contain the user's name.
        names.formUnion([file.store].compactMap { $0 }.filter { $0 != Paths.serviceStore })
        names.formUnion([file.bottle, file.publicURL, file.instance].compactMap { $0 } + file.bottles)
        // A time zone reveals the user's region.
        names.formUnion(
            [file.zone, Machine.variable("WATERH_ZONE"), Machine.variable("TZ"), (try? Machine.zone())?.id].compactMap {
                $0
            })
        if let store {
            if let settings = try? store.settings() { redact(settings.stored) }
            for bottle in (try? store.bottles()) ?? [] { names.formUnion([bottle.name] + bottle.identities) }
            for bottle in (try? TrackerAPI.adoptedBottles(of: store)) ?? [] {
                names.formUnion(
                    bottle.aliases.union(bottle.identities).union([bottle.advertisedName].compactMap { $0 }))
            }
        }
        let key = PollRecorder.namePrefix
        names.formUnion(polls.flatMap(\.trace).filter { $0.hasPrefix(key) }.map { String($0.dropFirst(key.count)) })
        // Other devices of bluetoothd are often named after their owners.
        names.formUnion((try? facts.daemon.get())?.devices.compactMap(\.name) ?? [])
        names.formUnion([
            ProcessInfo.processInfo.hostName, NSUserName(), NSFullUserName(), Machine.variable("SUDO_USER") ?? "",
        ])
        // Common words are not redacted.
        names.subtract([
            "root", "localhost", "vm", "bench", "debian", "waterh", "bluetooth", "UTC", "Etc/UTC", "GMT", "",
        ])
        self.init(names: names, secrets: secrets)
    }
}
