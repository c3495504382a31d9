// libFuzzer target for the capture readers; built by `hardware/fuzz` in one module with Sources/Captures.
//
// WATERH_FUZZ selects the reader: its file header precedes the input, so that mutations reach the records at once.

import Glibc

/// The file header before the fuzzer's bytes.
private let head: [UInt8] = {
    let name = getenv("WATERH_FUZZ").map { String(cString: $0) } ?? "any"
    switch name {
    case "btsnoop-h1", "btsnoop", "btsnoop-monitor", "pcap", "pcap-h4", "pcap-ll", "pcap-ll-phdr", "pcapng":
        guard let format = CaptureFormat(name: name) else { return [] }
        var writer = CaptureWriter(format)
        return writer.takeOutput()
    case "nordic":
        return [0xD4, 0xC3, 0xB2, 0xA1, 2, 0, 4, 0] + [UInt8](repeating: 0, count: 8) + [0xFF, 0xFF, 0, 0, 16, 1, 0, 0]
    case "ppi":
        return [0xD4, 0xC3, 0xB2, 0xA1, 2, 0, 4, 0] + [UInt8](repeating: 0, count: 8) + [
            0xFF, 0xFF, 0, 0, 192, 0, 0, 0,
        ]
    case "hex": return Array("# waterh-bench hex text\n".utf8)
    case "btmon": return Array("Bluetooth monitor ver 5.66\n".utf8)
    case "nrf": return Array("nRF Connect, 2026-02-02\n".utf8)
    default: return []
    }
}()

/// The comparable result of a reading.
private struct Outcome: Equatable {
    var packets = 0
    var bytes = 0
    var hash = 0
    var error: CaptureError?
}

/// - Parameter step: bytes per read.
private func read(_ file: [UInt8], step: Int) -> Outcome {
    var outcome = Outcome()
    var hasher = Hasher()
    var reader = CaptureReader()
    var window: [UInt8] = []
    var at = 0
    var isLast = false
    do {
        while !isLast {
            let next = min(file.count, at + step)
            window += file[at..<next]
            at = next
            isLast = at == file.count
            let consumed = try reader.read(window.span.bytes, isLast: isLast) { packet, bytes in
                outcome.packets += 1
                outcome.bytes += bytes.byteCount
                hasher.combine(packet)
                bytes.withUnsafeBytes { hasher.combine(bytes: $0) }
                if let time = packet.time { hasher.combine(time.description) }
            }
            precondition(consumed >= 0 && consumed <= window.count, "more bytes were consumed than available")
            window.removeFirst(consumed)
        }
    } catch let error as CaptureError {
        outcome.error = error
    } catch {
        preconditionFailure("another error than a CaptureError: \(error)")
    }
    outcome.hash = hasher.finalize()
    return outcome
}

@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzReader(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let file = head + UnsafeBufferPointer(start: start, count: count)
    let whole = read(file, step: max(1, file.count))
    precondition(whole.bytes <= file.count, "more bytes were delivered than the file has")
    precondition(whole.error?.offset ?? 0 <= file.count, "the offset of the error is after the end of the file")
    // A pipe gives the same result as a file.
    let pieces = read(file, step: 1 + count % 61)
    if pieces != whole {
        print("in pieces: \(pieces)\nat once:   \(whole)")
        fflush(nil)
    }
    precondition(pieces == whole, "a pipe gives another result than a file")
    return 0
}
