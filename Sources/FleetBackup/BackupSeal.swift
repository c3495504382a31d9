import Crypto
import FleetStore
import Foundation

/// A key in use: AES-GCM with 256 bits. What it seals is bound to its backup and its place there.
struct BackupSeal {
    /// 16 bytes that name the key.
    let id: [UInt8]
    private let key: SymmetricKey

    /// `nil` where it is no key.
    init?(_ seal: FleetStore.Seal) {
        guard let id = Self.bytes(seal.id), id.count == Self.idLength, let key = Self.bytes(seal.key), key.count == 32 else { return nil }
        (self.id, self.key) = (id, SymmetricKey(data: key))
    }

    static let idLength = 16

    func seal(_ bytes: [UInt8], at place: [UInt8]) throws -> [UInt8] {
        guard let sealed = try AES.GCM.seal(bytes, using: key, authenticating: place).combined else { throw BackupTrouble("Nothing can be sealed here.") }
        return Array(sealed)
    }

    func open(_ bytes: some Sequence<UInt8>, at place: [UInt8]) throws(BackupTrouble) -> [UInt8] {
        do { return Array(try AES.GCM.open(AES.GCM.SealedBox(combined: Data(bytes)), using: key, authenticating: place)) } catch {
            throw BackupTrouble("The backup is not whole, or somebody changed it: a piece of it cannot be opened with its key.")
        }
    }

    private static func bytes(_ text: String) -> [UInt8]? {
        let digits = Array(text.utf8)
        guard digits.count.isMultiple(of: 2) else { return nil }
        var bytes: [UInt8] = []
        for index in stride(from: 0, to: digits.count, by: 2) {
            guard let byte = UInt8(String(decoding: digits[index..<index + 2], as: UTF8.self), radix: 16) else { return nil }
            bytes.append(byte)
        }
        return bytes
    }
}
