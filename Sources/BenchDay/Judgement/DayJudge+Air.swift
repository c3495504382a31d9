import Bluetooth
import BottleProtocol

/// What is seen before anything is said: advertising, table, MTU.
extension DayJudge {
    var name: DayFinding {
        guard let name = day.advertisement?.name ?? day.name else { return untried(.name, "No name was seen.") }
        let bytes = ["\(HexText.of(Array(name.utf8)))"]
        return DayFinding(.name, BottleName.isBottle(name) ? .confirmed : .contradicted, "It is called \(name).", bytes)
    }

    var advertisedServices: DayFinding {
        guard day.hasRadio, let seen = day.advertisement, let profile = day.profile else {
            return untried(.advertisedServices, "This link has no radio, so nothing advertises.")
        }
        let usual = profile.advertisedService.map { [BluetoothUUID($0)] } ?? []
        let words =
            seen.services.isEmpty
            ? "It advertises none." : "It advertises \(seen.services.map(\.description).joined(separator: ", "))."
        return DayFinding(
            .advertisedServices, Set(seen.services) == Set(usual) ? .confirmed : .contradicted, words,
            seen.services.map(\.fullDescription))
    }

    var addressPrefix: DayFinding {
        guard day.advertisement?.isAddressPrivate != true, let identity = day.identity,
            BluetoothAddress(identity) != nil
        else {
            return untried(.addressPrefix, "It shows no address of its own.")
        }
        return DayFinding(
            .addressPrefix, identity.hasPrefix("A4:C1:38") ? .confirmed : .contradicted,
            "The first half is \(identity.prefix(8)).", [String(identity.prefix(8))])
    }

    var advertisingInterval: DayFinding {
        let gaps = zip(day.advertised, day.advertised.dropFirst()).map { $1 - $0 }.sorted()
        guard gaps.count >= 5 else {
            return untried(
                .advertisingInterval,
                day.hasRadio
                    ? "Fewer than six advertisements were recorded." : "This link has no radio, so nothing advertises.")
        }
        let (least, median) = (gaps[0], gaps[gaps.count / 2])
        let words =
            "Of \(gaps.count) gaps the middle one is \(Self.seconds(median)), the shortest \(Self.seconds(least))."
        return DayFinding(
            .advertisingInterval, median >= .seconds(1) ? .confirmed : .contradicted, words,
            gaps.map { Self.seconds($0) })
    }

    var table: DayFinding {
        guard !day.services.isEmpty else { return untried(.table, "No table was read.") }
        let lines = day.services.flatMap { service in
            ["service \(service.uuid)"]
                + service.characteristics.map {
                    "\(service.uuid) \($0.uuid) properties \(HexText.of([$0.properties.rawValue]))"
                }
        }
        guard let profile = day.profile else {
            return DayFinding(.table, .contradicted, "Neither profile's characteristics are there.", lines)
        }
        let wanted: [(service: UInt16, characteristic: UInt16, properties: CharacteristicProperties)] = [
            (
                profile.commandService, profile.commandCharacteristic,
                profile == .draft ? [.write, .writeWithoutResponse] : [.writeWithoutResponse]
            ),
            (profile.responseService, profile.responseCharacteristic, [.notify]),
        ]
        var wrong: [String] = []
        for (service, uuid, properties) in wanted {
            let found = day.services.first { $0.uuid == BluetoothUUID(service) }?.characteristics.first {
                $0.uuid == BluetoothUUID(uuid)
            }
            // That a response can be read, too, is a point of its own.
            guard let found, found.properties.subtracting(.read) == properties else {
                wrong.append(
                    """
                    \(BluetoothUUID(uuid)) in \(BluetoothUUID(service)) \
                    \(found.map { "has the properties \(HexText.of([$0.properties.rawValue]))" } ?? "is missing")
                    """
                )
                continue
            }
        }
        let words =
            wrong.isEmpty
            ? "It shows the \(profile.rawValue) profile, and \(Self.counted(day.services.count, "service")) in all."
            : wrong.joined(separator: "; ") + "."
        return DayFinding(.table, wrong.isEmpty ? .confirmed : .contradicted, words, lines)
    }

    var responseOnlyNotifies: DayFinding {
        guard day.profile == .retail, let found = characteristic(day.response) else {
            return untried(.responseOnlyNotifies, "No bottle on sale was met.")
        }
        let words = "Its properties are \(HexText.of([found.properties.rawValue]))."
        return DayFinding(
            .responseOnlyNotifies, found.properties.contains(.read) ? .contradicted : .confirmed, words,
            ["\(found.uuid) properties \(HexText.of([found.properties.rawValue]))"])
    }

    var onlyResponseNotifies: DayFinding {
        let others = day.others
        guard !day.services.isEmpty else { return untried(.onlyResponseNotifies, "No table was read.") }
        guard !others.isEmpty else {
            return DayFinding(.onlyResponseNotifies, .confirmed, "No other characteristic notifies.")
        }
        let values = day.steps.flatMap { step in
            step.values.filter { value in others.contains { $0.uuid == value.characteristic } }.map { (step, $0) }
        }
        let listen =
            day.steps.first { $0.kind == .listen }?.values.filter { value in
                others.contains { $0.uuid == value.characteristic }
            } ?? []
        let gaps = zip(listen, listen.dropFirst()).map { $1.after - $0.after }
        let rhythm = gaps.first.map { ", every \(Self.seconds($0))" } ?? ""
        let words =
            """
            \(others.map(\.uuid.description).joined(separator: ", ")) can notify, and did \
            \(Self.counted(values.count, "time"))\(rhythm).
            """
        return DayFinding(
            .onlyResponseNotifies, .contradicted, words,
            others.map { "\($0.uuid) properties \(HexText.of([$0.properties.rawValue]))" } + values.map { line($0, $1) }
        )
    }

    var mtu: DayFinding {
        guard let mtu = day.mtu else { return untried(.mtu, "No connection came about.") }
        // ATT's own first value may be the stack's that kept silent about the exchange.
        return DayFinding(.mtu, mtu >= 113 ? .confirmed : .contradicted, "The MTU is \(mtu).", ["MTU \(mtu)"])
    }

    private func characteristic(_ uuid: BluetoothUUID?) -> RemoteCharacteristic? {
        day.services.lazy.flatMap(\.characteristics).first { $0.uuid == uuid }
    }
}
