import Cryptography
import Store

/// What only the browser can read: a message as RFC 8291 encrypts it (`aes128gcm`, RFC 8188), so that its push service
/// sees neither words nor buttons.
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
    ///   - sender: of this message alone; `nil`: a new one.
    ///   - salt: 16 random bytes.
    static func encrypted(
        _ plain: [UInt8], for browser: PushSubscription, paddedTo step: Int = 512, sender: P256Key? = nil,
        salt: [UInt8] = (0..<16).map { _ in .random(in: .min ... .max) }
    ) throws -> [UInt8] {
        let sender = try sender ?? P256Key(), shared: [UInt8]
        do { shared = try sender.sharedSecret(with: browser.publicKey) } catch {
            // Only what is the key's own fault: without the library there is nothing wrong with the browser.
            throw error.kind == .refused ? WrongKey() : error
        }
        let ours = sender.publicKey
        // Section 3.4: from what both can work out to a key of this message.
        let info = Array("WebPush: info\0".utf8) + browser.publicKey + ours
        let material = HKDF.key(from: shared, salt: browser.secret, info: info, count: 32)
        func derived(_ what: String, _ count: UInt8) -> [UInt8] {
            HKDF.key(from: material, salt: salt, info: Array("Content-Encoding: \(what)\0".utf8), count: count)
        }
        let padded = min(longest, (plain.count + step - 1) / step * step)
        let record: [UInt8] = plain + [2] + [UInt8](repeating: 0, count: max(0, padded - plain.count))
        let size = [
            UInt8(recordSize >> 24), UInt8(recordSize >> 16 & 255), UInt8(recordSize >> 8 & 255),
            UInt8(recordSize & 255),
        ]
        let header: [UInt8] = salt + size + [UInt8(ours.count)] + ours
        return header + (try Sealing.aesGCM.seal(record, key: derived("aes128gcm", 16), nonce: derived("nonce", 12)))
    }
}
