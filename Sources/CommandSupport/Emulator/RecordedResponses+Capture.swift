package import Bluetooth
import BottleProtocol
package import Emulator
import Replay

extension RecordedResponses {
    /// Reads the responses of a bottle from captures: of the wanted bottle, or of the one with the most requests.
    /// - Throws: if a capture cannot be read, or contains no bottle.
    package init(_ mode: Mode, captures: [String], wanted: BluetoothAddress?) throws {
        var exchanges: [(request: [UInt8], values: [[UInt8]])] = []
        for path in mode == .model ? [] : captures {
            let scripts = try ResponseScript.read(CapturePart(path: path)).scripts
            let chosen =
                scripts.first { $0.address != nil && $0.address == wanted }
                ?? scripts.max { $0.exchanges.count < $1.exchanges.count }
            exchanges += chosen?.exchanges.map { ($0.request, $0.values.map(\.bytes)) } ?? []
        }
        self.init(mode, exchanges: exchanges)
    }
}
