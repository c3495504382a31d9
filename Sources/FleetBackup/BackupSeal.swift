import Ciphers
import FleetStore

/// A key in use: AES-GCM with 256 bits. What it seals is bound to its backup and its place there.
struct BackupSeal {
    /// 16 bytes that name the key.
    let id: [UInt8]
    private let key: [UInt8]

    /// `nil` where it is no key.
    init?(_ seal: FleetStore.Seal) {
        guard let id = Self.bytes(seal.id), id.count == Self.idLength, let key = Self.bytes(seal.key), key.count == 32
        else { return nil }
        (self.id, self.key) = (id, key)
    }

    static let idLength = 16

    /// As `FleetStore.Seal` calls it.
    var name: String { Self.name(id) }

    static func name(_ id: [UInt8]) -> String { id.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined() }

    /// A nonce, what was encrypted, its tag.
    func seal(_ bytes: [UInt8], at place: [UInt8]) throws(BackupTrouble) -> [UInt8] {
        var random = SystemRandomNumberGenerator()
        let nonce = (0..<Sealing.nonceSize).map { _ in UInt8.random(in: .min ... .max, using: &random) }
        do { return nonce + (try Sealing.aesGCM.seal(bytes, key: key, nonce: nonce, authenticating: place)) } catch {
            throw BackupTrouble("Nothing can be sealed here. \(error).")
        }
    }

    func open(_ bytes: some Collection<UInt8>, at place: [UInt8]) throws(BackupTrouble) -> [UInt8] {
        do {
            return try Sealing.aesGCM.open(
                Array(bytes.dropFirst(Sealing.nonceSize)), key: key, nonce: Array(bytes.prefix(Sealing.nonceSize)),
                authenticating: place)
        } catch {
            throw switch error.kind {
            case .refused, .wrongLength:
                BackupTrouble(
                    "The backup is not whole, or somebody changed it: a piece of it cannot be opened with its key.")
            case .libraryMissing, .failed: BackupTrouble("Nothing can be opened here. \(error).")
            }
        }
    }

    static func bytes(_ text: String) -> [UInt8]? {
        let digits = Array(text.utf8)
        guard digits.count.isMultiple(of: 2) else { return nil }
        var bytes: [UInt8] = []
        for index in stride(from: 0, to: digits.count, by: 2) {
            guard let byte = UInt8(String(decoding: digits[index..<index + 2], as: UTF8.self), radix: 16) else {
                return nil
            }
            bytes.append(byte)
        }
        return bytes
    }
}
