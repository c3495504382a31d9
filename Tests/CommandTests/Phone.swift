import Bluetooth
import BottleProtocol
import Foundation
import Support
import Synchronization
import Testing

/// A central on the `unix:` link, as a phone app is one. Each request waits for its response, with a time limit.
final class Phone: Sendable {
    private let link: SocketCentralLink
    private let seen = Seen()
    private let listening: Task<Void, Never>

    private final class Seen: Sendable {
        let events = Mutex<[CentralEvent]>([])
    }

    struct Silence: Error { let request: String }

    init(_ path: String) throws {
        link = SocketCentralLink(try UnixSocket(path: path))
        let (link, seen) = (link, seen)
        listening = Task {
            for await event in link.events { seen.events.withLock { $0.append(event) } }
        }
    }

    var notifications: [[UInt8]] {
        seen.events.withLock { $0.compactMap { if case .notification(_, let value) = $0 { value } else { nil } } }
    }

    /// Sends a request and waits for the event that answers it.
    @discardableResult
    func ask<Answer: Sendable>(_ request: CentralRequest, _ fits: @escaping @Sendable (CentralEvent) -> Answer?)
        async throws -> Answer
    {
        let before = seen.events.withLock { $0.count }
        link.perform(request)
        return try await wait("\(request)") { $0.dropFirst(before).lazy.compactMap(fits).first }
    }

    func wait<Answer: Sendable>(_ what: String, _ find: @escaping @Sendable ([CentralEvent]) -> Answer?) async throws
        -> Answer
    {
        guard let answer = await event(within: 10, { self.seen.events.withLock { find($0) } }) else {
            throw Silence(request: what)
        }
        return answer
    }

    /// Connects and discovers the handles of the bottle's two characteristics.
    func connect(_ profile: BottleProfile) async throws -> (command: UInt16, response: UInt16) {
        let peer = try await ask(.startScan) {
            if case .advertised(let advertisement) = $0 { advertisement.peer } else { nil }
        }
        try await ask(.connect(peer, limit: .seconds(5))) { if case .connected = $0 { true } else { nil } }
        let services = try await ask(.discover) { if case .discovered(let services) = $0 { services } else { nil } }
        let all = services.flatMap(\.characteristics)
        return (
            try #require(all.first { $0.uuid == BluetoothUUID(profile.commandCharacteristic) }).handle,
            try #require(all.first { $0.uuid == BluetoothUUID(profile.responseCharacteristic) }).handle
        )
    }

    func write(_ handle: UInt16, _ value: [UInt8]) async throws {
        try await ask(.write(handle: handle, value: value, withResponse: false)) {
            if case .wrote(handle) = $0 { true } else { nil }
        }
    }

    func read(_ handle: UInt16) async throws -> [UInt8] {
        try await ask(.read(handle: handle)) { if case .read(handle, let value) = $0 { value } else { nil } }
    }

    func subscribe(_ handle: UInt16) async throws {
        try await ask(.subscribe(handle: handle)) { if case .subscribed(handle) = $0 { true } else { nil } }
    }

    func disconnect() async throws {
        try await ask(.disconnect) { if case .disconnected = $0 { true } else { nil } }
    }

    func close() async {
        await link.close()
        await listening.value
    }
}
