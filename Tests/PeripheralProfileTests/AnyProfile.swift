import Bluetooth
import Emulator

/// Random device profiles, as a capture can contain them. The recorded values are the only ones.
struct AnyProfile<Random: RandomNumberGenerator> {
    var random: Random
    private var next = 1
    private var attributes: [(handle: UInt16, properties: CharacteristicProperties, cccdHandle: UInt16?)] = []
    private var descriptors: [UInt16] = []

    init(_ random: Random) { self.random = random }

    mutating func profile() -> PeripheralProfile {
        var profile = PeripheralProfile(
            address: BluetoothAddress(UInt64.random(in: 1...0xFFFF_FFFF_FFFF, using: &random)),
            addressType: Bool.random(using: &random) ? .random : .public,
            mtu: [23, 24, 65, 185, 247, 517].randomElement(using: &random))
        profile.advertisement = [2, 1, 6]
        if Bool.random(using: &random) { profile.scanResponse = [3, 0xFF, 1, 2] }
        (next, attributes, descriptors) = (1, [], [])
        profile.services = (0..<Int.random(in: 1...5, using: &random)).map { _ in service() }
        if profile.services.count > 1, profile.services[1].secondary == nil, Bool.random(using: &random) {
            include(1, in: &profile)
        }
        profile.conversations = (0..<Int.random(in: 1...3, using: &random)).map { _ in conversation(profile.mtu ?? 23) }
        profile.conversations.removeAll { $0.exchanges.isEmpty }
        fillValues(&profile)
        return profile
    }

    private mutating func handle() -> UInt16 {
        next += [1, 1, 1, 1, 2, 7].randomElement(using: &random) ?? 1
        return UInt16(next - 1)
    }

    private mutating func uuid() -> BluetoothUUID {
        Int.random(in: 0..<3, using: &random) == 0
            ? BluetoothUUID(high: 0x1234_5678_9ABC_DEF0, low: UInt64.random(in: 1...3, using: &random))
            : BluetoothUUID(UInt16.random(in: 0xFF00...0xFF04, using: &random))
    }

    private mutating func service() -> PeripheralProfile.Service {
        let start = handle()
        // Space for an include.
        next += 1
        var service = PeripheralProfile.Service(
            uuid: uuid(), handle: start, end: 0, secondary: Int.random(in: 0..<4, using: &random) == 0 ? true : nil)
        service.characteristics = (0..<Int.random(in: 0...5, using: &random)).map { _ in characteristic() }
        service.end = UInt16(next - 1)
        next = Int(service.end) + 1
        return service
    }

    private mutating func include(_ target: Int, in profile: inout PeripheralProfile) {
        let included = profile.services[target]
        profile.services[0].includes = [
            PeripheralProfile.Include(
                handle: profile.services[0].handle + 1, start: included.handle, end: included.end,
                uuid: included.uuid.flatMap { $0.short == nil ? nil : $0 })
        ]
    }

    private mutating func characteristic() -> PeripheralProfile.Characteristic {
        let declaration = handle()
        let properties = CharacteristicProperties(rawValue: UInt8.random(in: 0...0x3F, using: &random) & 0x3E)
        var characteristic = PeripheralProfile.Characteristic(
            uuid: uuid(), declaration: declaration, handle: handle(), properties: properties)
        if Bool.random(using: &random) {
            describe(&characteristic, [0x2901, 0x2904].randomElement(using: &random) ?? 0x2901)
        }
        var cccdHandle: UInt16?
        if characteristic.canBeSubscribed {
            cccdHandle = handle()
            characteristic.descriptors.append(PeripheralProfile.Descriptor(uuid: 0x2902, handle: cccdHandle ?? 0))
        }
        if Int.random(in: 0..<4, using: &random) == 0 { describe(&characteristic, BluetoothUUID(high: 7, low: 7)) }
        attributes.append((characteristic.handle, properties, cccdHandle))
        return characteristic
    }

    private mutating func describe(_ characteristic: inout PeripheralProfile.Characteristic, _ uuid: BluetoothUUID) {
        let descriptor = PeripheralProfile.Descriptor(uuid: uuid, handle: handle())
        characteristic.descriptors.append(descriptor)
        descriptors.append(descriptor.handle)
    }

    private mutating func bytes(_ most: Int) -> [UInt8] {
        (0..<Int.random(in: 0...most, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random) }
    }

    private mutating func conversation(_ mtu: Int) -> PeripheralProfile.Conversation {
        var subscribed: Set<UInt16> = []
        var exchanges: [PeripheralProfile.Exchange] = []
        for _ in 0..<Int.random(in: 0...12, using: &random) {
            guard let one = attributes.randomElement(using: &random) else { break }
            switch Int.random(in: 0..<5, using: &random) {
            case 0, 1:
                let handle =
                    Bool.random(using: &random) ? descriptors.randomElement(using: &random) ?? one.handle : one.handle
                exchanges.append(
                    PeripheralProfile.Exchange(
                        .read, handle: handle,
                        response: response(value: bytes([4, 40, 512].randomElement(using: &random) ?? 4))))
            case 2:
                exchanges.append(
                    PeripheralProfile.Exchange(
                        .write, handle: one.handle, value: Octets(bytes(min(4, mtu - 3))),
                        response: response(value: nil), values: values(subscribed, mtu)))
            case 3:
                exchanges.append(
                    PeripheralProfile.Exchange(
                        .command, handle: one.handle, value: Octets(bytes(2)), values: values(subscribed, mtu)))
            default:
                guard let cccdHandle = one.cccdHandle else { continue }
                let isOn = subscribed.contains(one.handle)
                let bits: UInt8 = isOn ? 0 : one.properties.contains(.notify) ? 1 : 2
                if isOn { subscribed.remove(one.handle) } else { subscribed.insert(one.handle) }
                exchanges.append(
                    PeripheralProfile.Exchange(
                        .write, handle: cccdHandle, value: [bits, 0], response: .init(),
                        values: values(subscribed, mtu)))
            }
        }
        return PeripheralProfile.Conversation(exchanges)
    }

    private mutating func response(value: [UInt8]?) -> PeripheralProfile.Response {
        let delay = Int.random(in: 0...300, using: &random)
        if Int.random(in: 0..<5, using: &random) == 0 {
            return PeripheralProfile.Response(error: UInt8.random(in: 1...255, using: &random), afterMs: delay)
        }
        return PeripheralProfile.Response(value: value.map { Octets($0) }, afterMs: delay)
    }

    /// Notifications of subscribed handles at increasing times after the response.
    private mutating func values(_ subscribed: Set<UInt16>, _ mtu: Int) -> [PeripheralProfile.Value]? {
        let handles = subscribed.sorted()
        var delay = 300
        let values = (0..<Int.random(in: 0...4, using: &random)).compactMap { _ -> PeripheralProfile.Value? in
            guard let handle = handles.randomElement(using: &random) else { return nil }
            delay += Int.random(in: 1...2000, using: &random)
            return PeripheralProfile.Value(handle: handle, value: Octets(bytes(mtu - 3)), afterMs: delay)
        }
        return values.isEmpty ? nil : values
    }

    /// The value in the table is the one that was read last.
    private func fillValues(_ profile: inout PeripheralProfile) {
        var last: [UInt16: Octets] = [:]
        for exchange in profile.conversations.flatMap(\.exchanges) where exchange.request == .read {
            if let handle = exchange.handle, let value = exchange.response?.value { last[handle] = value }
        }
        for service in profile.services.indices {
            for index in profile.services[service].characteristics.indices {
                var characteristic = profile.services[service].characteristics[index]
                characteristic.value = last[characteristic.handle]
                for descriptor in characteristic.descriptors.indices {
                    characteristic.descriptors[descriptor].value = last[characteristic.descriptors[descriptor].handle]
                }
                profile.services[service].characteristics[index] = characteristic
            }
        }
    }
}
