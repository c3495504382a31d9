// libFuzzer target for messages of an ESPHome Bluetooth proxy; built by `hardware/fuzz` in one module with
// Sources/ESPHome's messages and Sources/Bluetooth.
//
// WATERH_FUZZ selects the input: `proxy`, a stream of frames from the device; `proxy-sealed`, the same with encrypted
// frames; `proxy-message`, one message, whose type is the first byte.

import Glibc

private let mode = getenv("WATERH_FUZZ").map { String(cString: $0) } ?? "proxy"

/// The result of a stream.
private struct Heard: Equatable {
    var messages: [ProxyMessage?] = []
    var bodies: [[UInt8]] = []
    /// The reason for the end; `nil`: incomplete.
    var end: ProxyFrames.Step?

    /// - Parameter step: bytes per read.
    init(_ stream: [UInt8], step: Int) {
        var frames = ProxyFrames(isEncrypted: mode == "proxy-sealed")
        var at = 0
        while at < stream.count, end == nil {
            let next = min(stream.count, at + step)
            frames.append(Array(stream[at..<next]))
            at = next
            hearing: while true {
                let found = frames.next()
                switch found {
                case .message(let type, let bytes): messages.append(understood(type, bytes))
                case .encrypted(let body): bodies.append(body)
                case .incomplete: break hearing
                case .wrongEncryption, .invalid:
                    end = found
                    break hearing
                }
            }
        }
    }
}

/// `nil`: rejected.
private func understood(_ type: Int, _ bytes: [UInt8]) -> ProxyMessage? {
    guard let message = try? ProxyMessage(type: type, bytes) else { return nil }
    switch message {
    case .advertisements(let all):
        precondition(all.count <= 256, "more advertisements than the limit")
        for sighting in all {
            precondition(sighting.data.count <= bytes.count, "an advertisement is larger than its message")
        }
    case .services(_, let all):
        precondition(all.count <= 256, "more services than the limit")
        for service in all {
            precondition(
                service.service.characteristics.count <= 2048 && service.cccdHandles.count <= bytes.count,
                "more characteristics than the limit")
        }
    case .read(_, _, let value), .notified(_, _, let value):
        precondition(value.count <= bytes.count, "a value is larger than its message")
    default: break
    }
    precondition((try? ProxyMessage(type: type, bytes)) == message, "the same bytes are another message")
    return message
}

@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzProxy(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let input = Array(UnsafeBufferPointer(start: start, count: count))
    if mode == "proxy-message" {
        if let type = input.first { _ = understood(Int(type), Array(input.dropFirst())) }
        return 0
    }
    let whole = Heard(input, step: max(1, input.count))
    precondition(whole.bodies.reduce(0) { $0 + $1.count } <= input.count, "the output is longer than the input")
    let pieces = Heard(input, step: 1 + count % 7)
    if pieces != whole {
        print("in pieces: \(pieces)\nat once:   \(whole)")
        fflush(nil)
    }
    precondition(pieces == whole, "the result depends on the size of the reads")
    return 0
}
