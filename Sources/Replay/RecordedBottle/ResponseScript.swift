package import Bluetooth
package import BottleProtocol
import Captures
package import Emulator

/// The recorded requests and responses of one bottle.
package struct ResponseScript: Sendable {
    package internal(set) var address: BluetoothAddress?
    package internal(set) var name: String?
    /// The model of the recorded bottle; `nil` if the capture does not show it.
    package internal(set) var model: BottleModel?
    package internal(set) var profile: BottleProfile
    /// The exchanges in the order of the capture, over all connections.
    package internal(set) var exchanges: [RecordedExchange] = []
    /// Every distinct log record of the capture, including those without a request or in incomplete transfers. The
    /// exchanges number them from 1.
    package internal(set) var records: [[UInt8]] = []

    package typealias Reading = (scripts: [ResponseScript], readingError: String?)

    /// The scripts of all bottles in a recording, in order of first traffic. Equal addresses are the same bottle.
    /// - Returns: the scripts, and the error that ended the reading of the first truncated or damaged capture.
    /// - Throws: `ResponseScriptError` if there is no bottle or too much data; `CaptureFileError`.
    package static func read(_ parts: [CapturePart], handles: HandleOptions = HandleOptions()) throws -> Reading {
        let builder = ScriptBuilder(handles: handles)
        var recording = RecordingState(), readingError: String?, failure: String?
        for part in parts {
            var file = CaptureFile(part)
            file.onHeader = { builder.addNames(from: $0) }
            builder.name = part.name
            let error = try file.readEvents(continuing: &recording, onBegin: { try builder.beginFile() }) {
                try builder.receive($0, $1)
            }
            readingError = readingError ?? part.readingError ?? error?.description
            failure = failure ?? error.map { "\(part.name): \($0)" } ?? "no WaterH bottle in \(part.name)"
        }
        let scripts = try builder.finish()
        if scripts.isEmpty, let failure { throw ResponseScriptError(description: failure) }
        return (scripts, readingError)
    }
}

extension VirtualBottleMachine {
    /// Creates a bottle that responds as recorded. A repeated request gets the next recorded response, a log request
    /// the recorded logs in order, and after the last one all records that were not acknowledged.
    ///
    /// - Parameters:
    ///   - isStrict: whether a request that is not in the capture ends the connection, with a message that shows the
    ///     sent and the recorded request. Otherwise the emulated bottle of the recorded model responds.
    ///   - speed: the recorded delays are divided by it; `nil` sends without delay.
    ///   - hostTime: the host's local wall clock at `now`.
    package init(
        _ script: ResponseScript, isStrict: Bool = false, speed: Double? = nil, hostTime: LocalTime,
        at now: MonotonicInstant
    ) {
        // The calendar dialect sends the recorded bytes of a record unchanged.
        let identity = BottleIdentity(
            profile: OfferedProfiles(script.profile), model: script.model ?? .boost, name: script.name,
            address: script.address, dialect: .calendar)
        self.init(
            identity, flash: BottleFlash(records: script.records, capacity: script.records.count),
            responses: RecordedResponses(script.exchanges, isPreferred: true, isStrict: isStrict, speed: speed),
            hostTime: hostTime, at: now)
    }
}

/// The error for a capture from which no bottle can be emulated.
package struct ResponseScriptError: Error, Sendable, CustomStringConvertible {
    package var description: String
}

/// Sorts the traffic of captures into exchanges for each bottle.
private final class ScriptBuilder {
    /// The maximum size of a script, which is kept in memory: more than any session of a real bottle.
    private static let maximumBytes = 64 << 20
    /// The maximum delay of a value. Wrong times of a damaged capture could exceed the range of a clock.
    private static let longestDelay = Duration.seconds(86_400)

    /// The name of the capture, for messages.
    var name = ""
    private let handles: HandleOptions
    private var conversation: ConversationReader?
    private var scripts: [PartialScript] = []
    private var scriptsByPeer: [ObjectIdentifier: PartialScript] = [:]
    private var values: [ObservedValue] = []
    private var bytes = 0
    /// The last request on each open connection, with its time.
    private var openRequests: [Int: (script: PartialScript, time: Duration?)] = [:]

    private final class PartialScript {
        /// The bottle in each file.
        var peers: [BottlePeer] = []
        var exchanges: [RecordedExchange] = []
        var records: [[UInt8]] = []
        /// The numbers of the records, from 1.
        var numbers: [[UInt8]: UInt64] = [:]
    }

    init(handles: HandleOptions) { self.handles = handles }

    /// Starts a file with new connections.
    func beginFile() throws {
        try conversation?.finish()
        openRequests = [:]
        let reader = ConversationReader(handles: handles) { [unowned self] traffic, origin in add(traffic, origin) }
        reader.onValue = { [unowned self] value in values.append(value) }
        conversation = reader
    }

    func addNames(from info: CaptureFileInfo) { conversation?.addNames(from: info) }

    func receive(_ event: ConversationEvent, _ bytes: RawSpan) throws {
        if case .disconnected(let connection, _) = event { openRequests[connection.id] = nil }
        try conversation?.receive(event, bytes)
        // The event itself can determine the role of the handle, so handle its values after it.
        for value in values { add(value) }
        values.removeAll(keepingCapacity: true)
        guard self.bytes <= Self.maximumBytes else {
            throw ResponseScriptError(
                description: "\(name) has more than \(Self.maximumBytes >> 20) MiB of responses, the limit: "
                    + "split the capture")
        }
    }

    func finish() throws -> [ResponseScript] {
        try conversation?.finish()
        return scripts.compactMap { partial in
            let peers = partial.peers.lazy
            guard peers.contains(where: \.isBottle) || !partial.exchanges.isEmpty else { return nil }
            let isDraft = partial.exchanges.contains { $0.command.requestsLog && $0.request.count == 1 }
            var script = ResponseScript(profile: peers.compactMap(\.profile).first ?? (isDraft ? .draft : .retail))
            script.address = peers.compactMap(\.address).first
            script.name = peers.compactMap(\.name).first
            script.model = peers.compactMap(\.model).first
            (script.exchanges, script.records) = (partial.exchanges, partial.records)
            return script
        }
    }

    private func script(_ peer: BottlePeer) -> PartialScript {
        if let known = scriptsByPeer[ObjectIdentifier(peer)] { return known }
        let address = peer.address
        let known = scripts.first { $0.peers.contains { address != nil && $0.address == address } }
        let script = known ?? PartialScript()
        if known == nil { scripts.append(script) }
        script.peers.append(peer)
        scriptsByPeer[ObjectIdentifier(peer)] = script
        return script
    }

    private func add(_ traffic: BottleTraffic, _ origin: TrafficOrigin) {
        let script = script(origin.server.peer)
        switch traffic {
        case .command(_, let value, _):
            script.exchanges.append(RecordedExchange(request: value, frame: origin.observation.frame))
            openRequests[origin.server.connection.id] = (script, origin.observation.time)
            bytes += value.count
        case .records(let batch):
            let isRequested = openRequests[origin.server.connection.id]?.script === script
            batch.forEachRecord { raw, _ in
                let record = [UInt8](raw)
                let number = script.numbers[record] ?? UInt64(script.records.count + 1)
                if script.numbers.updateValue(number, forKey: record) == nil { script.records.append(record) }
                if isRequested, let last = script.exchanges.indices.last {
                    script.exchanges[last].records.append(number)
                }
                bytes += 64
            }
        case .message, .malformed: break
        }
    }

    private func add(_ value: ObservedValue) {
        guard case .response = value.server.role(of: value.handle, handles), value.kind.direction == .received
        else { return }
        guard let request = openRequests[value.server.connection.id],
            request.script === scriptsByPeer[ObjectIdentifier(value.server.peer)],
            let last = request.script.exchanges.indices.last
        else { return }
        let delay = value.time.flatMap { time in request.time.map { time - $0 } } ?? .zero
        request.script.exchanges[last].values.append((value.bytes, max(.zero, min(Self.longestDelay, delay))))
        bytes += value.bytes.count + 64
    }
}
