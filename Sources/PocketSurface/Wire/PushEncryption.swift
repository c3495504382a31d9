import Crypto
import Foundation
import Store

/// What only the browser can read: a message as RFC 8291 encrypts it (`aes128gcm`, RFC 8188), so that its push service sees neither words nor buttons.
enum PushEncryption {
    /// Of the one record that a message is.
    private static let recordSize: UInt32 = 4096
    /// A record holds its tag and one byte that ends it, and the header goes with it (RFC 8291, section 4).
    static let longest = 4096 - 86 - 16 - 1

    /// The browser's key is no point of its curve: nothing can be encrypted for it, ever.
    struct WrongKey: Error, Hashable {}

    /// - Parameters:
    ///   - plain: at most `longest` bytes.
    ///   - step: filled up to a multiple of it, so that the length says nothing of the words; 1: as it is.
    ///   - sender: of this message alone.
    ///   - salt: 16 random bytes.
    static func encrypted(
        _ plain: [UInt8], for browser: PushSubscription, paddedTo step: Int = 512, sender: P256.KeyAgreement.PrivateKey = .init(),
        salt: [UInt8] = (0..<16).map { _ in .random(in: .min ... .max) }
    ) throws -> [UInt8] {
        guard let theirs = try? P256.KeyAgreement.PublicKey(x963Representation: browser.publicKey), let shared = try? sender.sharedSecretFromKeyAgreement(with: theirs) else {
            throw WrongKey()
        }
        let ours = Array(sender.publicKey.x963Representation)
        // Section 3.4: from what both can work out to a key of this message.
        let info = Array("WebPush: info\0".utf8) + browser.publicKey + ours
        let material = shared.hkdfDerivedSymmetricKey(using: SHA256.self, salt: browser.secret, sharedInfo: info, outputByteCount: 32)
        func derived(_ what: String, _ count: Int) -> SymmetricKey {
            HKDF<SHA256>.deriveKey(inputKeyMaterial: material, salt: salt, info: Array("Content-Encoding: \(what)\0".utf8), outputByteCount: count)
        }
        let nonce = try derived("nonce", 12).withUnsafeBytes { try AES.GCM.Nonce(data: $0) }
        let padded = min(longest, (plain.count + step - 1) / step * step)
        let record: [UInt8] = plain + [2] + [UInt8](repeating: 0, count: max(0, padded - plain.count))
        let box = try AES.GCM.seal(record, using: derived("aes128gcm", 16), nonce: nonce)
        let size = [UInt8(recordSize >> 24), UInt8(recordSize >> 16 & 255), UInt8(recordSize >> 8 & 255), UInt8(recordSize & 255)]
        let header: [UInt8] = salt + size + [UInt8(ours.count)] + ours
        return header + Array(box.ciphertext) + Array(box.tag)
    }
}
