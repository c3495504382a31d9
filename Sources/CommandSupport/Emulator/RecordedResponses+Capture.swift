package import Bluetooth
package import Emulator
import Replay

extension RecordedResponses {
    /// Reads the responses of a bottle from captures: of the wanted bottle, or of the one with the most requests.
    /// - Parameter isStrict: whether a request that is not in the captures ends the connection.
    /// - Throws: if a capture cannot be read, or contains no bottle.
    package init(captures: [String], wanted: BluetoothAddress?, isStrict: Bool) throws {
        var exchanges: [RecordedExchange] = []
        for path in captures {
            let scripts = try ResponseScript.read(CaptureOpener().open(path).parts).scripts
            let selected =
                scripts.first { $0.address != nil && $0.address == wanted }
                ?? scripts.max { $0.exchanges.count < $1.exchanges.count }
            exchanges += selected?.exchanges ?? []
        }
        self.init(exchanges, isStrict: isStrict)
    }
}
