package import Bluetooth
package import BottleProtocol
import Gateway

/// A bottle written from the protocol specification alone, independent of the product's emulator. Its fields configure
/// faults.
package struct ScriptedBottle: ScriptedPeer {
    /// The reaction to an acknowledgement command.
    package enum Acknowledging: Sendable {
        /// Drops the oldest records of the last transfer.
        case drops
        /// Drops the oldest records at the time of the acknowledgement.
        case counts
        case ignores, refuses, hangsUp
        /// Drops records, and the connection is lost before the confirmation: once.
        case dropsAndIsLost
    }

    package var profile = BottleProfile.retail
    package var services: [RemoteService]
    package var advertisement = Advertisement(peer: PeerID("unix:test.sock"))
    package var mtu = 517
    package var name: [UInt8]? = Array("WaterH-Boost-24oz".utf8)
    package var serial: [UInt8]? = Array("A4:C1:38:01:02:03".utf8)
    package var records: [[UInt8]]
    /// Payload of the answer to GT FF; `nil`: no answer.
    package var snapshot: [UInt8]?
    package var recordsPerEntry = 8
    package var recordsPerFrame = 5000
    package var acknowledging = Acknowledging.drops
    /// The number of commands that are ignored at first, because they arrive too early.
    package var ignoredCommands = 0
    package var answersLog = true
    /// From the second connection on, every command is ignored, and a read returns an empty value.
    package var isDeafAfterReconnecting = false
    /// The maximum length of a notification, in bytes; frames are cut anywhere.
    package var pieceSize = 5000
    /// The numbers of lost notifications, from 0, over the lifetime of the bottle.
    package var lost: Set<Int> = []
    package var doubled: Set<Int> = []
    /// The connection ends before the notification with this number.
    package var hangsUpBefore: Int?
    package var spacing = Duration.milliseconds(2)
    /// Extra values notified after each log request.
    package var noise: [[UInt8]] = []
    package var connectFailures: [LinkError] = []
    package var isSilent = false
    package var subscribeFails: LinkError?
    /// Draft: a read without a next packet returns the last one again, or an empty frame.
    package var repeatsLastPacket = false
    package private(set) var connections = 0
    /// Capacity of the ring in records; the oldest are overwritten.
    package var ring = 5000
    /// Records added while an acknowledgement is in transit, one group each time.
    package var sipsBeforeAcknowledgement: [[[UInt8]]] = []
    package private(set) var overwritten: [[UInt8]] = []
    /// Reads return the newest packet of 19 first, as in the original app.
    package var givesNewestFirst = false
    private var notified = 0
    private var subscribed = false
    private var pending: [[UInt8]] = []
    private var lastPacket: [UInt8] = []
    private var transferred = 0
    /// Records overwritten since the last transfer.
    private var overwrittenSinceTransfer = 0

    private static let lost = CentralEvent.disconnected(
        LinkError(.disconnected, "The connection was lost.", isTransient: true))

    static let commandHandle: UInt16 = 0x21
    package static let responseHandle: UInt16 = 0x31
    static let nameHandle: UInt16 = 0x03
    static let serialHandle: UInt16 = 0x13

    package init(
        _ profile: BottleProfile = .retail, records: [[UInt8]] = [], properties: CharacteristicProperties? = nil
    ) {
        self.profile = profile
        self.records = records
        let command: CharacteristicProperties =
            profile == .retail ? [.writeWithoutResponse] : [.write, .writeWithoutResponse]
        let response: CharacteristicProperties = properties ?? (profile == .retail ? [.notify] : [.read, .notify])
        services = [
            RemoteService(
                uuid: 0x1800, handle: 1,
                characteristics: [RemoteCharacteristic(uuid: 0x2A00, handle: Self.nameHandle, properties: [.read])]),
            RemoteService(
                uuid: 0x180A, handle: 0x11,
                characteristics: [RemoteCharacteristic(uuid: 0x2A25, handle: Self.serialHandle, properties: [.read])]),
        ]
        let characteristics = [
            RemoteCharacteristic(
                uuid: BluetoothUUID(profile.commandCharacteristic), handle: Self.commandHandle, properties: command),
            RemoteCharacteristic(
                uuid: BluetoothUUID(profile.responseCharacteristic), handle: Self.responseHandle, properties: response),
        ]
        if profile == .draft {
            services.append(RemoteService(uuid: 0xFF00, handle: 0x20, characteristics: characteristics))
        } else {
            services.append(RemoteService(uuid: 0xFFE5, handle: 0x20, characteristics: [characteristics[0]]))
            services.append(RemoteService(uuid: 0xFFE0, handle: 0x30, characteristics: [characteristics[1]]))
        }
    }

    package mutating func handle(_ request: CentralRequest, at now: MonotonicInstant) -> DelayedEvents {
        let shortDelay = Duration.milliseconds(1)
        switch request {
        case .startScan:
            return isSilent ? [] : [(shortDelay, .advertised(advertisement))]
        case .stopScan:
            return []
        case .connect(let peer, _):
            if !connectFailures.isEmpty { return [(shortDelay, .connectFailed(connectFailures.removeFirst()))] }
            connections += 1
            subscribed = false
            pending = []
            return [(shortDelay, .connected(peer, mtu: mtu))]
        case .discover:
            return [(shortDelay, .discovered(services))]
        case .read(Self.nameHandle):
            return [(shortDelay, value(Self.nameHandle, name))]
        case .read(Self.serialHandle):
            return [(shortDelay, value(Self.serialHandle, serial))]
        case .read(let handle):
            return [(shortDelay, .read(handle: handle, value: ignoresCommands ? [] : nextPacket()))]
        case .subscribe(let handle):
            if let subscribeFails { return [(shortDelay, .subscribeFailed(handle: handle, subscribeFails))] }
            subscribed = true
            return [(shortDelay, .subscribed(handle: handle))]
        case .write(let handle, let value, _):
            return write(handle, value)
        case .disconnect:
            return [(shortDelay, .disconnected(nil))]
        case .clearCache, .powerCycle:
            return [(shortDelay, .recovered("done"))]
        }
    }

    private var ignoresCommands: Bool { isDeafAfterReconnecting && connections > 1 }

    private func value(_ handle: UInt16, _ bytes: [UInt8]?) -> CentralEvent {
        bytes.map { .read(handle: handle, value: $0) }
            ?? .readFailed(handle: handle, LinkError(.refused, "Read not permitted.", attError: 2))
    }

    private mutating func write(_ handle: UInt16, _ bytes: [UInt8]) -> DelayedEvents {
        let command = HostCommand(decoding: bytes)
        if case .acknowledge(let count) = command {
            if !sipsBeforeAcknowledgement.isEmpty { drink(sipsBeforeAcknowledgement.removeFirst()) }
            switch acknowledging {
            case .counts: records.removeFirst(min(records.count, Int(count) / 13))
            case .dropsAndIsLost:
                dropSent(Int(count) / 13)
                acknowledging = .drops
                return [(.milliseconds(1), Self.lost)]
            case .drops: dropSent(Int(count) / 13)
            case .ignores: break
            case .refuses:
                let refusal = LinkError(.refused, "Value not allowed.", attError: 0x13)
                return [(.milliseconds(1), .writeFailed(handle: handle, refusal))]
            case .hangsUp: return [(.milliseconds(1), Self.lost)]
            }
        }
        var events: DelayedEvents = [(.milliseconds(1), .wrote(handle: handle))]
        guard !ignoresCommands else { return events }
        guard ignoredCommands == 0 else {
            ignoredCommands -= 1
            return events
        }
        var at = Duration.milliseconds(3)
        for value in answers(to: command).flatMap(pieces) {
            defer { notified += 1 }
            at += spacing
            if notified == hangsUpBefore {
                hangsUpBefore = nil
                events.append((at, Self.lost))
                break
            }
            guard subscribed, !lost.contains(notified) else { continue }
            let event = CentralEvent.notification(handle: Self.responseHandle, value: Array(value.prefix(mtu - 3)))
            events.append((at, event))
            if doubled.contains(notified) { events.append((at, event)) }
        }
        return events
    }

    private func pieces(_ value: [UInt8]) -> [[UInt8]] {
        stride(from: 0, to: value.count, by: pieceSize).map { Array(value[$0..<min($0 + pieceSize, value.count)]) }
    }

    private mutating func answers(to command: HostCommand) -> [[UInt8]] {
        switch command {
        case .snapshot:
            return snapshot.map { [[0x52, 0x50, UInt8($0.count >> 8), UInt8($0.count & 0xFF)] + $0] } ?? []
        case .clock:
            return [[0x52, 0x50, 0, 3, 2, 3, 0]]
        case .goal, .settings, .reminder:
            return [[0x52, 0x50] + Array(command.encoded.dropFirst(2))]
        case .drinkLog:
            guard answersLog else { return [] }
            (transferred, overwrittenSinceTransfer) = (records.count, 0)
            if records.isEmpty { return noise + [[0x52, 0x50, 0, 3, 2, 6, 0]] }
            return noise + [[0x52, 0x50, 0, 3, 2, 6, 1]] + frames(recordsPerFrame).flatMap { $0 }
        case .draftDump:
            guard answersLog else { return [] }
            (transferred, overwrittenSinceTransfer) = (records.count, 0)
            let reading = givesNewestFirst && !subscribed
            pending = reading ? newestFirst() : frames(8).map { $0.flatMap { $0 } }
            lastPacket = []
            return noise + pending + [[0x50, 0x54, 0, 0]]
        default:
            return []
        }
    }

    /// Adds records, and overwrites the oldest when the ring is full.
    package mutating func drink(_ more: [[UInt8]]) {
        records += more
        let surplus = max(0, records.count - ring)
        overwritten += records.prefix(surplus)
        records.removeFirst(surplus)
        overwrittenSinceTransfer += surplus
    }

    /// Drops the oldest records of the last transfer that are not overwritten yet.
    private mutating func dropSent(_ count: Int) {
        let left = max(0, min(count, transferred) - overwrittenSinceTransfer)
        records.removeFirst(min(left, records.count))
        transferred -= min(count, transferred)
        overwrittenSinceTransfer = 0
    }

    private func newestFirst() -> [[UInt8]] {
        stride(from: records.count, to: 0, by: -19).map { end in
            let bytes = records[max(0, end - 19)..<end].flatMap { $0 }
            return [0x50, 0x54, 0, UInt8(bytes.count + 2), UInt8(bytes.count + 1), 6] + bytes
        }
    }

    /// The log as frames, each as its notifications.
    private func frames(_ size: Int) -> [[[UInt8]]] {
        stride(from: 0, to: records.count, by: size).map { start in
            let part = Array(records[start..<min(start + size, records.count)])
            let entries = stride(from: 0, to: part.count, by: recordsPerEntry).map { first -> [UInt8] in
                let bytes = part[first..<min(first + recordsPerEntry, part.count)].flatMap { $0 }
                return [UInt8(bytes.count + 1), 6] + bytes
            }
            let length = entries.reduce(0) { $0 + $1.count }
            var values = entries
            values[0] = [0x50, 0x54, UInt8(length >> 8), UInt8(length & 0xFF)] + entries[0]
            return values
        }
    }

    private mutating func nextPacket() -> [UInt8] {
        if pending.isEmpty { return repeatsLastPacket && !lastPacket.isEmpty ? lastPacket : [0x50, 0x54, 0, 0] }
        lastPacket = pending.removeFirst()
        return lastPacket
    }
}

/// A record of 2026-02-02 from its minute and amount, with the tail of the verified samples.
package func record(
    minute: Int, second: Int = 0, amount: Int, hour: Int = 22, day: Int = 2, month: Int = 2, year: UInt8 = 0x1A,
    flag: UInt8 = 0
) -> [UInt8] {
    [
        year, UInt8(month), UInt8(day), UInt8(hour), UInt8(minute), UInt8(second), UInt8(amount >> 8),
        UInt8(amount & 0xFF), 0, 0, 1, 0x61, flag,
    ]
}
